import type { Failpoint } from './failpoint-names';

/**
 * Marks a moment at which the death of the process must do no harm. It does nothing: chaos tests replace it in the apps
 * that they start (test/support/die-at-failpoint.cjs). The name must be a literal.
 */
export function failpoint(_name: Failpoint): void {}
