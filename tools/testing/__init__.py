"""What the tests share: hypothesis strategies and helpers around them."""
