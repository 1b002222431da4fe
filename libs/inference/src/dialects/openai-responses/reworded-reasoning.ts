import { LossLog } from '../../model/loss-report';
import type { Endpoint } from '../../catalogue/catalogue';
import { JsonCursor } from '../../json/json-cursor';
import { scanMembers, spliceMembers, type ScannedObject } from '../../json/json-members';
import { parseJson } from '../../json/json-value';
import { numberOf, objectOf } from '../../json/loose-values';
import { isTaken } from '../own-members';
import { memberText } from '../request-members';
import { thinks } from '../untaken-parameters';
import { readReasoningRequest } from './request-reader';
import { effortOf, outputTokensOf } from './request-writer';

/** What callers may say of thinking and OpenAI's API has no word for, in `reasoning`. */
const OWN_SETTINGS = ['enabled', 'max_tokens', 'exclude'];

/**
 * The `reasoning` of a request in the words of an upstream that would refuse it as it is, as JSON text; undefined
 * where it can stay.
 */
export function rewordedReasoning(request: ScannedObject, endpoint: Endpoint, log = new LossLog()): Buffer | undefined {
  const text = memberText(request, 'reasoning');
  if (text === undefined || !new JsonCursor(text).isObject() || isTaken(endpoint, 'responses', 'reasoning')) {
    return undefined;
  }
  if (!thinks(endpoint)) return undefined;
  const settings = scanMembers(text);
  if (!settings.members.some(({ key }) => OWN_SETTINGS.includes(key))) return undefined;
  const asked = objectOf(parseJson(text));
  if (asked['exclude'] === true) log.drop('reasoning.exclude');
  const reasoning = readReasoningRequest(asked, new Set());
  const effort = reasoning && effortOf(reasoning, outputTokensOf(boundOf(request), endpoint), log);
  const set = effort === undefined ? undefined : { effort: JSON.stringify(effort) };
  return spliceMembers(settings, { set, remove: OWN_SETTINGS });
}

/** The tokens that the answer may have; undefined where the request does not say. */
function boundOf(request: ScannedObject): number | undefined {
  const text = memberText(request, 'max_output_tokens');
  return text === undefined ? undefined : numberOf(parseJson(text));
}
