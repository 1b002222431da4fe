import { LossLog } from '../../model/loss-report';
import type { Endpoint } from '../../routing/catalogue';
import { JsonCursor } from '../json-cursor';
import type { ScannedObject } from '../json-members';
import { parseJson } from '../json-value';
import { isObject } from '../loose-values';
import { memberText } from '../request-members';
import { CheckedObject } from '../checked-object';
import { takes, type ChatExtension } from './extensions';
import { readReasoningRequest } from './read-request';
import { writeEffort } from './write-request';

/** Tiers that exist between the caller and us, in the upstream's words. */
const PRIORITY = { service_tier: '"priority"' };
const TIERS: Readonly<Record<string, object>> = { '"fast"': PRIORITY, '"ultrafast"': PRIORITY };

/** A key with its quotes, which stands in no string of a body: there they are escaped. */
const CACHE_MARK = '"cache_control"';
/** Members whose parts can be marked for the cache. */
const MARKABLE = ['messages', 'tools'];
const NO_REASONING: readonly string[] = ['reasoning'];

/**
 * Members of a chat request that callers of this API have and OpenAI's does not, in the words of an upstream that
 * speaks the latter: it would refuse the whole request for them.
 *
 * @param set JSON texts by the names of members, to which those are added that are told otherwise
 * @returns the names of members that are not told as they are
 * @throws AppError invalid_request by the member's path
 */
export function reword(
  request: ScannedObject,
  endpoint: Endpoint,
  set: Record<string, string | Buffer>,
  log?: LossLog,
): readonly string[] {
  const tier = memberText(request, 'service_tier');
  if (tier !== undefined) Object.assign(set, TIERS[tier.toString()]);
  if (!takes(endpoint, 'cache_control') && request.bytes.includes(CACHE_MARK)) unmark(request, set, log);
  const unknown = isUnknown('image_config', request, endpoint, log) ? ['image_config'] : [];
  if (memberText(request, 'reasoning') === undefined || takes(endpoint, 'reasoning')) return unknown;
  const effort = effortOf(request, endpoint, log);
  if (effort !== undefined) set['reasoning_effort'] = JSON.stringify(effort);
  return unknown.length === 0 ? NO_REASONING : [...unknown, ...NO_REASONING];
}

function isUnknown(name: ChatExtension, request: ScannedObject, endpoint: Endpoint, log?: LossLog): boolean {
  if (memberText(request, name) === undefined || takes(endpoint, name)) return false;
  log?.drop(name);
  return true;
}

/** Takes the marks off messages, their parts, and tools. The member of the whole request is the gateway's own. */
function unmark(request: ScannedObject, set: Record<string, string | Buffer>, log?: LossLog): void {
  for (const name of MARKABLE) {
    const text = memberText(request, name);
    if (!text?.includes(CACHE_MARK)) continue;
    log?.drop('cache_control');
    set[name] = JSON.stringify(unmarked(parseJson(text)));
  }
}

/** Schemas and arguments may have a member of that name which is none of ours. */
function unmarked(entries: unknown): unknown {
  if (!Array.isArray(entries)) return entries;
  return entries.map((entry: unknown) => {
    if (!isObject(entry)) return entry;
    const { cache_control: _mark, ...rest } = entry;
    return Array.isArray(rest.content) ? { ...rest, content: unmarked(rest.content) } : rest;
  });
}

function effortOf(request: ScannedObject, endpoint: Endpoint, log = new LossLog()): string | undefined {
  const names = ['reasoning', 'reasoning_effort', 'max_completion_tokens', 'max_tokens'];
  const members = names.flatMap((name) => {
    const text = memberText(request, name);
    return text === undefined || new JsonCursor(text).isNull() ? [] : [[name, parseJson(text)] as const];
  });
  const body = new CheckedObject(Object.fromEntries(members));
  const maxOutputTokens = body.integer('max_completion_tokens') ?? body.integer('max_tokens');
  const reasoning = readReasoningRequest(body);
  if (reasoning?.summary !== undefined) log.drop('reasoning.summary');
  return reasoning && writeEffort(reasoning, maxOutputTokens, endpoint, log);
}
