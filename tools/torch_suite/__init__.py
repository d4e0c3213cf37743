"""Models of torchvision and transformers with random weights, in PyTorch and in Stepwell (`make torch-suite`)."""
