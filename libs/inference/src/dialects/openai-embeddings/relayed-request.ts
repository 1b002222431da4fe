import { JsonCursor, spliceMembers, type ScannedObject } from '@libs/json';
import { AppError } from '@libs/errors';
import type { LossLog } from '../../model/loss-report';
import { SHARED_ACCOUNT } from '../../model/provider-account';
import type { Endpoint } from '../../catalogue/catalogue';
import { embeddingsTraitsOf, type EmbeddingsTraits } from './traits';
import { setAskedTier } from '../asked-tier';
import { GATEWAY_MEMBERS, memberText, scanRequest } from '../request-members';
import { retainedMembers } from '../retained-members';
import { unpricedMembers } from '../unpriced-members';

/** Returns the caller's body for an upstream of the same API: a few fields changed, all other bytes kept. */
export function toUpstream(
  body: Buffer,
  endpoint: Endpoint,
  _isStream?: boolean,
  log?: LossLog,
  account = SHARED_ACCOUNT,
): Buffer {
  const request = scanRequest(body);
  const traits = embeddingsTraitsOf(endpoint);
  const set: Record<string, string | Buffer> = { model: JSON.stringify(endpoint.upstreamModel) };
  const retained = retainedMembers(request, set, { api: 'embeddings', account });
  const remove = [...GATEWAY_MEMBERS, 'cache_control', ...traits.refuses, ...retained];
  nameUnserved(request, log);
  remove.push(...setAskedTier(request, endpoint, set, { isOwnKey: account.isOwn, log }));
  remove.push(...unpricedMembers(request, set, { api: 'embeddings', isOwnKey: account.isOwn, log }));
  const dimensions = chosenDimensions(request, traits);
  if (dimensions !== null && traits.dimensionsMember !== DIMENSIONS) set[traits.dimensionsMember] = dimensions;
  if (dimensions === null || traits.dimensionsMember !== DIMENSIONS) remove.push(DIMENSIONS);
  for (const name of traits.refuses) delete set[name];
  for (const [name, value] of Object.entries(traits.sets)) set[name] = JSON.stringify(value);
  return spliceMembers(request, { set, remove });
}

const DIMENSIONS = 'dimensions';

/** Fields that the gateway serves on other APIs only. */
const UNSERVED = ['plugins', 'debug', 'stop_server_tools_when', 'cache_control'];

function nameUnserved(request: ScannedObject, log?: LossLog): void {
  for (const name of UNSERVED) {
    const text = memberText(request, name);
    if (text !== undefined && !new JsonCursor(text).isNull()) log?.drop(name);
  }
}

/** Returns the requested dimensions as JSON text, or null. @throws AppError if the model does not support them */
function chosenDimensions(request: ScannedObject, { dimensions: offered }: EmbeddingsTraits): Buffer | null {
  const asked = memberText(request, DIMENSIONS);
  if (asked === undefined || new JsonCursor(asked).isNull()) return null;
  if (offered === null || offered.includes(Number(asked.toString()))) return asked;
  if (offered.length === 0) throw invalidDimensions('dimensions cannot be chosen for this model');
  throw invalidDimensions(`dimensions must be one of ${offered.join(', ')} for this model`);
}

function invalidDimensions(message: string): AppError {
  return new AppError('invalid_request', message, { metadata: { param: DIMENSIONS } });
}
