import { promptHash } from '../answers/answer';
import { tokensOf } from '../answers/tokens';
import { integerMember, parseJsonObject, type JsonObject } from '../http/json-members';
import { jsonReply, type Call, type Reply } from '../http/reply';
import { SandboxError } from '../http/sandbox-error';
import { vectorOfText, vectorOfTokens } from './text-vector';
import type { InferenceStart } from '../behaviours/inference-start';

const DEFAULT_DIMENSIONS = 256;
const MAXIMUM_DIMENSIONS = 4_096;
const MAXIMUM_INPUTS = 2_048;

type Input = string | readonly number[];

/** `POST /v1/embeddings`: a text, texts, a token list or token lists; floats or base64 of little-endian float32. */
export function answerEmbeddings(start: InferenceStart, call: Call): Reply {
  const body = parseJsonObject(call.body);
  const { model, playback, refusal } = start.begin('openai', body.model, call.body);
  if (refusal) return refusal;
  const inputs = readInputs(body);
  const dimensions = integerMember(body, 'dimensions', 1, MAXIMUM_DIMENSIONS) ?? DEFAULT_DIMENSIONS;
  const isBase64 = readIsBase64(body);
  start.counts.countPrompt(promptHash(inputs.map(String).join('\n')));
  let tokens = 0;
  const data = inputs.map((input, index) => {
    tokens += typeof input === 'string' ? tokensOf(input) : input.length;
    const vector = typeof input === 'string' ? vectorOfText(input, dimensions) : vectorOfTokens(input, dimensions);
    return { object: 'embedding', index, embedding: isBase64 ? toBase64(vector) : Array.from(vector) };
  });
  start.charge('openai', model, { promptTokens: tokens, outputTokens: 0 }, true);
  const usage = model.behaviour.omitsUsage ? {} : { usage: { prompt_tokens: tokens, total_tokens: tokens } };
  return jsonReply({ object: 'list', data, model: model.name, ...usage }, playback);
}

function readIsBase64(body: JsonObject): boolean {
  const format = body.encoding_format ?? 'float';
  if (format !== 'float' && format !== 'base64') {
    throw new SandboxError(400, "'encoding_format' must be 'float' or 'base64'", 'encoding_format');
  }
  return format === 'base64';
}

function readInputs(body: JsonObject): readonly Input[] {
  const { input } = body;
  if (input === undefined) throw new SandboxError(400, "Missing required parameter: 'input'", 'input');
  const list: readonly unknown[] = Array.isArray(input) ? (isTokens(input) ? [input] : input) : [input];
  const isValid = list.length > 0 && list.length <= MAXIMUM_INPUTS && list.every((entry) => isInput(entry));
  if (!isValid) {
    const message = `'input' must be a text, a list of tokens, or up to ${MAXIMUM_INPUTS} of either, none of them empty`;
    throw new SandboxError(400, message, 'input');
  }
  return list;
}

function isInput(value: unknown): value is Input {
  return (typeof value === 'string' && value !== '') || (Array.isArray(value) && isTokens(value));
}

function isTokens(value: readonly unknown[]): value is readonly number[] {
  return value.length > 0 && value.every((token) => Number.isSafeInteger(token) && Number(token) >= 0);
}

function toBase64(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4);
  vector.forEach((value, index) => bytes.writeFloatLE(value, index * 4));
  return bytes.toString('base64');
}
