import { Foundation1763700000001 } from './1763700000001-foundation';
import { Accounts1763700000002 } from './1763700000002-accounts';

/** One ordered history for the whole installation, whichever app owns the table. */
export const migrations = [Foundation1763700000001, Accounts1763700000002];
