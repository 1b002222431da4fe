import { EdgePools } from '../../http/edge-pools';
import { RequestClaim } from '../../http/request-claim';
import type { OutsideWork } from '../outside-work';

/** The work of a request of a workspace of its own, from the memory of a gateway that does nothing else. */
export function outsideWork({
  workspace = 'workspace',
  ...values
}: Partial<OutsideWork> & { workspace?: string } = {}) {
  const holders = [workspace, `organization of ${workspace}`];
  const memory = new RequestClaim(new EdgePools());
  memory.work({ isPublic: false, holders });
  return { holders, memory, signal: new AbortController().signal, ...values } satisfies OutsideWork;
}
