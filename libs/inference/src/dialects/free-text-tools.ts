import { MalformedJson, objectOf, parseJson, stringOf, type JsonObject } from '@libs/json';
import type { Endpoint } from '../catalogue/catalogue';
import type { CanonicalRequest, FreeText, ToolDefinition } from '../model/canonical-request';
import type { LossLog } from '../model/loss-report';
import type { UpstreamTranslation } from './translation';

/** Name of the only parameter of a function that replaces a tool with free text. */
const INPUT = 'input';

/** Parameters of the function that replaces a tool with free text. */
export const FREE_TEXT_PARAMETERS = {
  type: 'object',
  properties: { [INPUT]: { type: 'string' } },
  required: [INPUT],
  additionalProperties: false,
} as const;

/**
 * Reads the format of a tool that takes free text. Adds `member` to `unread` if the format is neither text nor a
 * grammar.
 */
export function readFreeText(format: JsonObject, member: string, unread: Set<string>): FreeText {
  const { type, syntax, definition } = format;
  if (type === undefined || type === 'text') return {};
  if (type === 'grammar' && typeof syntax === 'string' && typeof definition === 'string') {
    return { grammar: { syntax, definition } };
  }
  unread.add(member);
  return {};
}

/** Returns the names of the tools that are called with free text. */
export function freeTextNames(tools: readonly ToolDefinition[]): ReadonlySet<string> {
  return new Set(tools.flatMap(({ name, freeText }) => (freeText === undefined ? [] : [name])));
}

/** Returns free text as the arguments of the function that replaces the tool. */
export function argumentsOfText(text: string): string {
  return JSON.stringify({ [INPUT]: text });
}

/** Begins and ends the arguments of a free text whose pieces arrive one after the other. */
export const TEXT_ARGUMENTS = { start: `{"${INPUT}":"`, end: '"}' } as const;

/** Returns a piece of free text as it is inside the arguments. */
export function argumentsOfPiece(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Returns the free text inside a function's arguments; the arguments if there is none. */
export function textOfArguments(args: string): string {
  try {
    return stringOf(objectOf(parseJson(Buffer.from(args)))[INPUT]) ?? args;
  } catch (thrown) {
    // If the model did not write valid JSON, the caller gets the text unchanged.
    if (thrown instanceof MalformedJson) return args;
    throw thrown;
  }
}

/**
 * Returns the request with tools that take free text if the endpoint takes them, and with functions in their place
 * otherwise. A function has no grammar, so that is logged as lost.
 */
export function withTakenTools(
  { takesFreeText }: Pick<UpstreamTranslation, 'takesFreeText'>,
  endpoint: Endpoint,
  request: CanonicalRequest,
  log: LossLog,
): CanonicalRequest {
  if (request.tools.every(({ freeText }) => freeText === undefined)) return request;
  if (takesFreeText?.(endpoint) === true) return request;
  const tools = request.tools.map(({ freeText, ...tool }) => {
    if (freeText?.grammar !== undefined) log.drop('tools.format');
    return tool;
  });
  return { ...request, tools };
}
