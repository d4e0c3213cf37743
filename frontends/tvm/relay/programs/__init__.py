"""The programs of `IRModule.import_from_std`, in the text of Relay."""
