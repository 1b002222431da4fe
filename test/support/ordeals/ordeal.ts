import type { Death } from '../failpoint-deaths';
import type { AppName } from '../installation';

/** What dies, and how to see afterwards that no harm was done. */
export interface Ordeal {
  readonly app: AppName;
  /** In this order. */
  readonly deaths: readonly Death[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly verify: () => Promise<void>;
}

/** What an app has left undone brings it to its next death. */
export const nothing = async (): Promise<void> => undefined;
