import { sentValue } from '@libs/contracts';
import { findValue, MalformedJson, withoutDoubledNames } from '@libs/json';
import { AppError } from '@libs/errors';
import {
  APIS,
  findMedia,
  forEachConversationApi,
  providerToolsIn,
  scanJsonShape,
  type AllowedUses,
  type PromptEstimate,
  type StreamableApi,
} from '@libs/inference';
import { findShapeProblem } from '../http/parse-json';

/** Tool uses that a provider may make for one line, by API, because the API of the batch may come after its lines. */
export type UsesByApi = Readonly<Record<StreamableApi, readonly AllowedUses[]>>;

/** One element of `requests` that passed every check for which endpoint and model need not be known. */
export interface BatchLineDraft {
  readonly customId: string;
  /** The caller's bytes of `body`, with each field name only once. */
  readonly body: Buffer;
  /** Estimate of `body` as a prompt. */
  readonly prompt: PromptEstimate;
  /** `body.model`, which must be absent or equal to the model of the batch. */
  readonly model: string | null;
  /**
   * The caller's cap on output tokens as each API reads it, multiplied by the number of answers; null if there is none.
   * The API of the batch may come after its lines.
   */
  readonly maxOutputTokens: Readonly<Record<StreamableApi, number | null>>;
  /** The model is asked to think. */
  readonly asksToThink: boolean;
  /** Answers asked for. */
  readonly choices: number;
  /** Tool uses that a provider may make, by the caps of each API; null if the line asks for none. */
  readonly toolUses: UsesByApi | null;
}

/** Below this size, the values of any line take no more memory than `findShapeProblem` allows. */
const SMALL_LINE_BYTES = 256 * 1024;
const MAX_CUSTOM_ID_LENGTH = 512;
const MAX_METADATA_PAIRS = 16;
const MAX_CHOICES = 128;
const MAX_TOKENS = 10_000_000;
const TOKEN_CAPS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'] as const;

type JsonObject = Record<string, unknown>;

/**
 * Reads one element of `requests`.
 * @throws AppError invalid_request or unprocessable with the index and the field, never a value
 */
export function readBatchLine(index: number, json: Buffer): BatchLineDraft {
  const where = `requests[${index}]`;
  if (json.length > SMALL_LINE_BYTES) refuseManyValues(where, json);
  const item = parseItem(where, json);
  const customId = readCustomId(where, item.custom_id);
  if (!isObject(item.body)) throw refused(where, 'body', 'must be an object', item.body);
  const body = item.body;
  checkBody(`${where}.body`, body);
  const choices = readCount(`${where}.body`, 'n', body.n, MAX_CHOICES) ?? 1;
  const maxOutputTokens = readCaps(`${where}.body`, body, choices);
  return {
    customId,
    ...readBytes(where, json),
    model: readModel(where, body.model),
    maxOutputTokens,
    asksToThink: APIS.chat.outputOf(body).thinking.isAsked === true,
    choices,
    toolUses: readToolUses(body),
  };
}

function readToolUses(body: JsonObject): UsesByApi | null {
  const mayUse = providerToolsIn(body).length > 0 || (body.context_management ?? null) !== null;
  return mayUse ? forEachConversationApi(({ toolUsesOf }) => toolUsesOf(body)) : null;
}

/** @throws AppError for values that JSON.parse accepts but no provider would, such as an infinite number */
function readBytes(where: string, json: Buffer): Pick<BatchLineDraft, 'body' | 'prompt'> {
  try {
    const body = findValue(json, ['body'])!;
    const { mayNameTwice, prompt } = scanJsonShape(body);
    return { body: mayNameTwice ? withoutDoubledNames(body) : body, prompt };
  } catch (thrown) {
    if (thrown instanceof MalformedJson) throw malformed(where);
    throw thrown;
  }
}

function parseItem(where: string, json: Buffer): JsonObject {
  let item: unknown;
  try {
    item = JSON.parse(json.toString());
  } catch {
    throw malformed(where);
  }
  if (!isObject(item)) {
    throw new AppError('invalid_request', `${where} must be an object`, { metadata: { param: where } });
  }
  return item;
}

function refuseManyValues(where: string, json: Buffer): void {
  const problem = findShapeProblem(json);
  if (problem === null) return;
  throw new AppError('invalid_request', `${where} has ${problem}`, { metadata: { param: where } });
}

function malformed(where: string): AppError {
  return new AppError('invalid_request', `Malformed batch input: ${where} is not valid JSON`, {
    metadata: { param: where },
  });
}

function readCustomId(where: string, customId: unknown): string {
  if (typeof customId !== 'string' || customId === '') {
    throw refused(where, 'custom_id', 'must be a non-empty string', customId);
  }
  if (customId.includes('\0') || !customId.isWellFormed()) {
    throw refused(where, 'custom_id', 'must be valid text without NUL characters');
  }
  if (customId.length > MAX_CUSTOM_ID_LENGTH) {
    throw new AppError('unprocessable', `${where}.custom_id is longer than ${MAX_CUSTOM_ID_LENGTH} characters`, {
      metadata: { param: `${where}.custom_id` },
    });
  }
  return customId;
}

function readModel(where: string, model: unknown): string | null {
  if (model === undefined || model === null) return null;
  if (typeof model !== 'string') throw refused(where, 'body.model', 'must be a string', model);
  return model;
}

function checkBody(where: string, body: JsonObject): void {
  if (body.stream !== undefined && body.stream !== null && body.stream !== false) {
    throw refused(where, 'stream', 'cannot be used in a batch');
  }
  if (body.previous_response_id !== undefined && body.previous_response_id !== null) {
    throw refused(where, 'previous_response_id', 'cannot be used: responses are not stored');
  }
  if (isObject(body.metadata) && Object.keys(body.metadata).length > MAX_METADATA_PAIRS) {
    throw refused(where, 'metadata', `has more than ${MAX_METADATA_PAIRS} pairs`);
  }
  const media = findMedia(body);
  if (media !== null) throw refused(where, media, 'holds more than text, which a batch cannot carry');
}

/** Providers ignore caps of other APIs. If an API has two caps, a provider may follow either one. */
function readCaps(where: string, body: JsonObject, choices: number): BatchLineDraft['maxOutputTokens'] {
  for (const name of TOKEN_CAPS) readCount(where, name, body[name], MAX_TOKENS);
  return forEachConversationApi(({ outputOf }) => {
    const { maxTokens } = outputOf(body);
    return maxTokens === null ? null : maxTokens * choices;
  });
}

function readCount(where: string, member: string, value: unknown, max: number): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw refused(where, member, `must be an integer from 1 to ${max}`, value);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function refused(where: string, member: string, what: string, value?: unknown): AppError {
  const param = `${where}.${member}`;
  return new AppError('invalid_request', `${param} ${what}${sentValue(param, value)}`, { metadata: { param } });
}
