import { JsonCursor, scanMembers, spliceMembers, type ScannedObject } from '@libs/json';
import { tierNamed } from '../../catalogue/service-tiers';
import type { LossLog } from '../../model/loss-report';
import { SHARED_ACCOUNT, upstreamUser, type ProviderAccount } from '../../model/provider-account';
import type { Endpoint } from '../../catalogue/catalogue';
import { setAskedTier } from '../asked-tier';
import { withPricedMarkTexts } from '../cache-lifetime';
import { setCappedOutput } from '../output-cap';
import { hashedUser, memberText, scanRequest } from '../request-members';
import { dropRetained, retainedMembers, usersInNotes } from '../retained-members';
import { cappedTools } from '../tool-caps';
import { unpricedMembers } from '../unpriced-members';
import { MESSAGES_GATEWAY_MEMBERS, UNSERVED_MEMBER } from './gateway-members';
import { maxTokensOf } from './request-writer';
import { withoutForeignCitations } from './returned-citations';
import { withoutForeignThoughts } from './returned-thoughts';

/** Returns the upstream's value for a tier: it has `auto`, which allows priority, and `standard_only`. */
function tierWord(tier: string): string {
  const known = tierNamed(tier);
  if (known === null) return tier;
  return known === 'standard' ? 'standard_only' : 'auto';
}

/** Returns the caller's body for an upstream of the same API: a few fields changed, all other bytes kept. */
export function toUpstream(
  body: Buffer,
  endpoint: Endpoint,
  isStream: boolean,
  log?: LossLog,
  account = SHARED_ACCOUNT,
): Buffer {
  const isOwnKey = account.isOwn;
  const request = withPricedMarkTexts(scanRequest(body), endpoint, account, log);
  const set: Record<string, string | Buffer> = { model: JSON.stringify(endpoint.upstreamModel) };
  if (isStream) set['stream'] = 'true';
  else if (memberText(request, 'stream') !== undefined) set['stream'] = 'false';
  if (isNothing(memberText(request, 'max_tokens'))) set['max_tokens'] = String(maxTokensOf(endpoint));
  setCappedOutput(request, set, endpoint, { names: ['max_tokens'], log });
  setCappedBudget(request, set, log);
  const tier = setAskedTier(request, endpoint, set, { isOwnKey, wordOf: tierWord, log });
  const metadata = metadataOf(request, account);
  if (metadata !== undefined) set['metadata'] = metadata;
  const tools = cappedTools(request, { isOwnKey, log });
  if (tools !== undefined) set['tools'] = tools;
  const unpriced = unpricedMembers(request, set, { api: 'messages', isOwnKey, log });
  const retained = retainedMembers(request, set, { api: 'messages', account });
  // The user goes on in the metadata.
  dropRetained(
    request,
    retained.filter((name) => name !== 'user'),
    log,
  );
  if (!isNothing(memberText(request, UNSERVED_MEMBER))) log?.drop(UNSERVED_MEMBER);
  const unsent = [...unpriced, ...retained, ...unsampled(request, endpoint, log)];
  const remove = [...MESSAGES_GATEWAY_MEMBERS, ...tier, ...unsent, ...dropForeignContent(request, set, log)];
  return spliceMembers(request, { set, remove });
}

/**
 * Leaves out what other models or the gateway wrote and a provider of this API cannot read. Returns `thinking` if the
 * model may not think on after it.
 */
export function dropForeignContent(
  request: ScannedObject,
  set: Record<string, string | Buffer>,
  log?: LossLog,
): string[] {
  const removed = dropForeignThoughts(request, set, log);
  const text = set['messages'] ?? memberText(request, 'messages');
  const messages = Buffer.isBuffer(text) ? withoutForeignCitations(text) : null;
  if (messages === null) return removed;
  set['messages'] = messages;
  log?.drop('messages.content.citations');
  return removed;
}

/** Leaves out thoughts of other models. Returns `thinking` if the model may not think on after them. */
function dropForeignThoughts(request: ScannedObject, set: Record<string, string | Buffer>, log?: LossLog): string[] {
  const text = memberText(request, 'messages');
  const found = text === undefined ? null : withoutForeignThoughts(text);
  if (found === null) return [];
  set['messages'] = found.messages;
  log?.drop('messages.content.thinking');
  const thinking = memberText(request, 'thinking');
  if (!found.isLastBare || thinking === undefined || !thinking.includes('"enabled"')) return [];
  log?.drop('thinking');
  delete set['thinking'];
  return ['thinking'];
}

/** Lowers a budget of thoughts that a lowered cap leaves no room for: the upstream refuses one that is not below it. */
function setCappedBudget(request: ScannedObject, set: Record<string, string | Buffer>, log?: LossLog): void {
  const thinking = memberText(request, 'thinking');
  const cap = Number(set['max_tokens']);
  if (thinking === undefined || Number.isNaN(cap) || !new JsonCursor(thinking).isObject()) return;
  const settings = scanMembers(thinking);
  if (!(Number(memberText(settings, 'budget_tokens')?.toString()) >= cap)) return;
  set['thinking'] = spliceMembers(settings, { set: { budget_tokens: String(cap - 1) } });
  log?.approximate('thinking.budget_tokens');
}

const SAMPLERS: readonly string[] = ['temperature', 'top_p', 'top_k'];

/** Returns the samplers that the catalogue does not list; the upstream would refuse a request with them. */
function unsampled(request: ScannedObject, { supportedParameters: listed }: Endpoint, log?: LossLog): string[] {
  if (listed.length === 0) return [];
  const names = SAMPLERS.filter((name) => !listed.includes(name) && memberText(request, name) !== undefined);
  for (const name of names) log?.drop(name);
  return names;
}

/** Returns the metadata with the hashed user, whichever field names the user; undefined without a user. */
function metadataOf(request: ScannedObject, account: ProviderAccount): string | Buffer | undefined {
  const text = memberText(request, 'metadata');
  const metadata = text !== undefined && new JsonCursor(text).isObject() ? scanMembers(text) : undefined;
  const hashed = (metadata && hashedUser(metadata, 'user_id')) ?? hashedUser(request);
  const set: Record<string, string> = {};
  if (hashed !== undefined) set['user_id'] = JSON.stringify(upstreamUser(hashed, account));
  if (metadata !== undefined) return spliceMembers(metadata, { set, remove: usersInNotes(metadata) });
  return hashed === undefined ? undefined : `{"user_id":${set['user_id']}}`;
}

function isNothing(text: Buffer | undefined): boolean {
  return text === undefined || new JsonCursor(text).isNull();
}
