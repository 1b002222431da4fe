import {
  objectOf,
  objectsOf,
  type JsonObject,
  MalformedJson,
  findMember,
  type JsonMember,
  type ScannedObject,
  parseJson,
} from '@libs/json';
import { tierWord } from '../catalogue/service-tiers';
import type { UsageDetails, UsageIteration } from '../pricing/usage';

const DETAIL_MEMBERS: ReadonlySet<string> = new Set([
  'cache_creation',
  'server_tool_use',
  'server_tool_use_details',
  'iterations',
  'speed',
]);

/** Upper limit for reported iterations, above what any call makes; limits what an absurd report can store. */
const MOST_ITERATIONS = 100;
/** Pattern of upstream names and model ids that may be stored; others are left out. */
const WORD = /^[\w.:/@+-]{1,128}$/;

interface SaidBeside {
  readonly details?: UsageDetails;
  readonly serviceTier?: string;
}

const NOTHING: SaidBeside = {};

/** Returns the usage details and the tier of an answer that was scanned but not parsed. */
export function saidBeside(usage: { readonly object: ScannedObject } | null, tier: string | null): SaidBeside {
  const details = usage === null ? NOTHING : scannedDetails(usage.object);
  return tier === null ? details : { ...details, ...tierMember(tierWord(tier)) };
}

/** Reads the fields of interest only; ignores one that is not valid JSON. */
function scannedDetails(usage: ScannedObject): { readonly details?: UsageDetails } {
  if (!usage.members.some(({ key }) => DETAIL_MEMBERS.has(key))) return NOTHING;
  const found: Record<string, unknown> = {};
  for (const name of DETAIL_MEMBERS) {
    const member = findMember(usage, name);
    if (member !== undefined) found[name] = valueAt(usage.bytes, member);
  }
  return usageDetails(found);
}

/** Returns the value of a scanned field; undefined if it is not valid JSON. */
export function valueAt(bytes: Buffer, { valueStart, valueEnd }: JsonMember): unknown {
  try {
    return parseJson(bytes.subarray(valueStart, valueEnd));
  } catch (thrown) {
    if (thrown instanceof MalformedJson) return undefined;
    throw thrown;
  }
}

/** Returns the details of an upstream's usage object, for an answer; empty if it has none. */
export function usageDetails(reported: unknown): { readonly details?: UsageDetails } {
  const usage = objectOf(reported);
  const iterations = objectsOf(usage['iterations']).slice(0, MOST_ITERATIONS).flatMap(readIteration);
  const speed = wordOf(usage['speed']);
  const details: UsageDetails = {
    ...readCacheCreation(usage['cache_creation']),
    ...readTools(usage),
    ...(speed !== null && { speed }),
    ...(iterations.length > 0 && { iterations }),
  };
  return Object.keys(details).length > 0 ? { details } : {};
}

/** Returns a word of an upstream if it may be stored and shown; otherwise null. */
export function wordOf(value: unknown): string | null {
  return typeof value === 'string' && WORD.test(value) ? value : null;
}

/** Returns the tier that an answer names, as a field of `Answer`. */
export function tierMember(tier: unknown): { readonly serviceTier?: string } {
  const serviceTier = wordOf(tier);
  return serviceTier === null ? {} : { serviceTier };
}

function readCacheCreation(reported: unknown): Pick<UsageDetails, 'cacheWrite5mTokens' | 'cacheWrite1hTokens'> {
  const { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long } = objectOf(reported);
  return { ...counted('cacheWrite5mTokens', short), ...counted('cacheWrite1hTokens', long) };
}

/**
 * Reads `server_tool_use`, which some APIs call `server_tool_use_details`. It is one object with two kinds of counts.
 */
function readTools(usage: JsonObject): UsageDetails {
  const tools = { ...objectOf(usage['server_tool_use_details']), ...objectOf(usage['server_tool_use']) } as JsonObject;
  return {
    ...counted('webSearches', tools['web_search_requests']),
    ...counted('webFetches', tools['web_fetch_requests']),
    ...counted('toolCallsRequested', tools['tool_calls_requested']),
    ...counted('toolCallsExecuted', tools['tool_calls_executed']),
  };
}

function readIteration(iteration: JsonObject): UsageIteration[] {
  const type = wordOf(iteration['type']);
  if (type === null) return [];
  const model = wordOf(iteration['model']);
  return [
    {
      type,
      ...(model !== null && { model }),
      ...counted('inputTokens', iteration['input_tokens']),
      ...counted('outputTokens', iteration['output_tokens']),
      ...counted('cacheReadTokens', iteration['cache_read_input_tokens']),
      ...counted('cacheWriteTokens', iteration['cache_creation_input_tokens']),
      ...readCacheCreation(iteration['cache_creation']),
    },
  ];
}

/** Returns the field, or no field if the value is not a whole number above 0. */
function counted<Name extends string>(name: Name, value: unknown): { readonly [K in Name]?: number } {
  return Number.isSafeInteger(value) && (value as number) > 0 ? ({ [name]: value } as { [K in Name]: number }) : {};
}
