"""What-if: two scenarios on the same seeds, figure beside figure."""
