import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import type { Reviewer } from '@libs/persistence';

/** Returns who uses this command line, for the audit trail: the account of the operating system. */
export function operatorAtWork(): Reviewer {
  return { operator: accountName(), requestId: `sluice-${randomUUID()}` };
}

/** In a container the account often has a number and no name. */
function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
