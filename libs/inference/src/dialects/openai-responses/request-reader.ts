import { booleanOf, defined, numberOf, objectOf, objectOrNull, objectsOf, stringOf, type JsonObject } from '@libs/json';
import type {
  CanonicalRequest,
  ReasoningEffort,
  ReasoningRequest,
  ResponseFormat,
  Sampling,
} from '../../model/canonical-request';
import { noteIdleToolSettings, unknownMembers } from '../known-members';
import { hashOfUser } from '../request-members';
import { readInput } from './conversation-reader';
import { KNOWN_MEMBERS } from './known-members';
import { includesOutput, SEALED_THOUGHTS } from './response-object';
import { ToolNames } from './tool-names';
import { readTools } from './tool-reader';

const LOGPROBS = 'message.output_text.logprobs';
/** Values of `include` that this translation supports; each adds output to the answer. */
const INCLUDED = new Set([SEALED_THOUGHTS, LOGPROBS]);

const MODALITIES = ['text', 'image', 'audio'] as const;
const VERBOSITIES = ['low', 'medium', 'high', 'xhigh', 'max'] as const;
const SUMMARIES = ['auto', 'concise', 'detailed'] as const;
const EFFORTS: readonly ReasoningEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** Reads a validated request of this API into the canonical model. */
export function readRequest(body: JsonObject): CanonicalRequest {
  const unread = unknownMembers(body, KNOWN_MEMBERS);
  noteUnmet(body, unread);
  const user = stringOf(body['safety_identifier']) ?? stringOf(body['user']);
  const names = new ToolNames(body);
  const { tools, toolChoice } = readTools(names, body['tool_choice'], unread);
  const areParallelToolCallsAllowed = booleanOf(body['parallel_tool_calls']);
  const counts = { offered: objectsOf(body['tools']).length, left: tools.length };
  noteIdleToolSettings({ isParallelAllowed: areParallelToolCallsAllowed, toolChoice }, counts, unread);
  const request = {
    messages: readInput(body['input'], body['instructions'], { names, unread }),
    tools,
    toolChoice,
    areParallelToolCallsAllowed,
    responseFormat: readFormat(body, unread),
    sampling: readSampling(body),
    maxOutputTokens: numberOf(body['max_output_tokens']),
    stopSequences: [],
    reasoning: readReasoningRequest(body['reasoning'], unread),
    wantsSealedThoughts: includesOutput(body, SEALED_THOUGHTS) || undefined,
    topLogprobs: readTopLogprobs(body),
    verbosity: knownWord(VERBOSITIES, objectOf(body['text'])['verbosity'], 'text.verbosity', unread),
    outputModalities: readModalities(body['modalities']),
    cache: readCache(body['cache_control']),
    promptCacheKey: stringOf(body['prompt_cache_key']),
    serviceTier: stringOf(body['service_tier']),
    metadata: (objectOrNull(body['metadata']) ?? undefined) as Readonly<Record<string, string>> | undefined,
    endUser: user === undefined ? undefined : hashOfUser(user),
  };
  return defined({ ...request, unread: [...unread] });
}

/** Returns a known value. Leaves out any other value and adds its path to `unread`. */
function knownWord<T>(known: readonly T[], value: unknown, path: string, unread: Set<string>): T | undefined {
  const word = known.find((entry) => entry === value);
  if (word === undefined && (value ?? null) !== null) unread.add(path);
  return word;
}

/** Adds to `unread` the fields that ask for more than a translation can provide. */
function noteUnmet({ include, truncation }: JsonObject, unread: Set<string>): void {
  if (truncation === 'auto') unread.add('truncation');
  const extra: readonly unknown[] = Array.isArray(include) ? include : [];
  if (extra.some((entry) => !INCLUDED.has(String(entry)))) unread.add('include');
}

/** Log probabilities that are requested only by `include` come without alternatives: 0. */
function readTopLogprobs(body: JsonObject): number | undefined {
  return numberOf(body['top_logprobs']) ?? (includesOutput(body, LOGPROBS) ? 0 : undefined);
}

function readFormat(body: JsonObject, unread: Set<string>): ResponseFormat | undefined {
  const format = objectOrNull(objectOf(body['text'])['format']);
  if (format?.['type'] === 'text') return { type: 'text' };
  if (format?.['type'] === 'json_object') return { type: 'json' };
  if (format !== null && format['type'] !== 'json_schema') unread.add('text.format');
  if (format?.['type'] !== 'json_schema') return undefined;
  return defined({
    type: 'json-schema' as const,
    name: stringOf(format['name']) ?? '',
    schema: objectOf(format['schema']),
    description: stringOf(format['description']),
    strict: booleanOf(format['strict']),
  });
}

function readSampling(body: JsonObject): Sampling {
  return defined({
    temperature: numberOf(body['temperature']),
    topP: numberOf(body['top_p']),
    topK: numberOf(body['top_k']),
    frequencyPenalty: numberOf(body['frequency_penalty']),
    presencePenalty: numberOf(body['presence_penalty']),
  });
}

/** Reads `reasoning`. Adds settings with values that are not known to `unread`. */
export function readReasoningRequest(value: unknown, unread: Set<string>): ReasoningRequest | undefined {
  const reasoning = objectOrNull(value);
  if (reasoning === null) return undefined;
  const request = defined({
    isEnabled: booleanOf(reasoning['enabled']),
    effort: knownWord(EFFORTS, reasoning['effort'], 'reasoning.effort', unread),
    maxTokens: numberOf(reasoning['max_tokens']),
    summary: knownWord(SUMMARIES, reasoning['summary'], 'reasoning.summary', unread),
  });
  return Object.keys(request).length > 0 ? request : undefined;
}

function readModalities(value: unknown): readonly (typeof MODALITIES)[number][] | undefined {
  if (!Array.isArray(value)) return undefined;
  return MODALITIES.filter((modality) => value.includes(modality));
}

function readCache(value: unknown): { readonly ttl?: string } | undefined {
  const control = objectOrNull(value);
  return control === null ? undefined : defined({ ttl: stringOf(control['ttl']) });
}
