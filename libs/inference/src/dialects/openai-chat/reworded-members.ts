import { LossLog } from '../../model/loss-report';
import type { Endpoint } from '../../catalogue/catalogue';
import { JsonCursor } from '../../json/json-cursor';
import type { ScannedObject } from '../../json/json-members';
import { parseJson } from '../../json/json-value';
import { memberText } from '../request-members';
import { thinks } from '../untaken-parameters';
import { CheckedObject } from '../checked-object';
import { takes } from './traits';
import { readReasoningRequest } from './request-reader';
import { writeEffort } from './request-writer';

/**
 * Members of a chat request that callers of this API have and OpenAI's does not, in the words of an upstream that
 * speaks the latter: it would refuse the whole request for them.
 *
 * @param set JSON texts by the names of members, to which those are added that are told otherwise
 * @returns the names of members that the upstream is not sent
 * @throws AppError invalid_request by the member's path
 */
export function reword(
  request: ScannedObject,
  endpoint: Endpoint,
  set: Record<string, string | Buffer>,
  log?: LossLog,
): readonly string[] {
  if (memberText(request, 'reasoning') === undefined || takes(endpoint, 'reasoning') || !thinks(endpoint)) return [];
  const effort = effortOf(request, endpoint, log);
  if (effort !== undefined) set['reasoning_effort'] = JSON.stringify(effort);
  return ['reasoning'];
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
