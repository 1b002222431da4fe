import { objectOf, objectsOf, parseJson, stringOf, type JsonObject } from '@libs/json';
import { memberText, scanRequest } from '../request-members';

const CUSTOM = Buffer.from('"custom"');

/** Request field that lists the tools. */
export const TOOLS = 'tools';

/** Returns whether the bytes of a chat request may offer tools that take free text. */
export function mayHaveCustomTools(requestBody: Buffer): boolean {
  return requestBody.includes(CUSTOM);
}

/**
 * Returns the names of the tools of a chat request that take free text. `request` is the parsed request, if it is at
 * hand. Searches the bytes first: few requests have such tools, so most are not parsed a second time.
 */
export function customNames(requestBody: Buffer, request?: JsonObject): ReadonlySet<string> {
  const tools = request === undefined ? parsedTools(requestBody) : request[TOOLS];
  return new Set(objectsOf(tools).flatMap(({ type, custom }) => (type === 'custom' ? nameOf(custom) : [])));
}

function parsedTools(requestBody: Buffer): unknown {
  const text = mayHaveCustomTools(requestBody) ? memberText(scanRequest(requestBody), TOOLS) : undefined;
  return text === undefined ? undefined : parseJson(text);
}

function nameOf(custom: unknown): string[] {
  const name = stringOf(objectOf(custom)['name']);
  return name === undefined ? [] : [name];
}
