"""From a Program and its costs to a Timeline."""
