import { keyContracts } from '../keys/keys.messages';
import { organizationContracts } from '../organizations/organizations.messages';
import { workspaceContracts } from '../workspaces/workspaces.messages';
import { AdvanceBatch } from '../batches/batches.messages';
import type { Contract } from './contract';

/** Every contract of the house. A process that consumes a queue refuses to boot unless it handles all of its contracts. */
export const allContracts: readonly Contract[] = [
  ...keyContracts,
  ...organizationContracts,
  ...workspaceContracts,
  AdvanceBatch,
];
