"""Stage II: from the sums of feature terms that a table should have back to its missing cells."""

from kernimpute.stage_two.new_rows import recover_new_rows
from kernimpute.stage_two.recover import RecoveredFeatures, recover_features
from kernimpute.stage_two.released import recover_features_released

__all__ = ["RecoveredFeatures", "recover_features", "recover_features_released", "recover_new_rows"]
