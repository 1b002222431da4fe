import type { AnswerContext } from './dialect';
import { findValue } from '../json/json-members';

const MEMBER = 'echo_upstream_body';

/**
 * The context of a stream whose caller may have asked to see the body that the upstream was sent
 * (`debug.echo_upstream_body`, interface §4.4).
 */
export function withEcho(context: AnswerContext, sent: Buffer): AnswerContext {
  const { requestBody } = context;
  const isAsked = requestBody.includes(MEMBER) && findValue(requestBody, ['debug', MEMBER])?.toString() === 'true';
  return isAsked ? { ...context, echoedBody: inOneLine(sent) } : context;
}

/** As the data of an event has to be. Outside of strings, where JSON has no line breaks, they are only white space. */
function inOneLine(json: Buffer): string {
  return json.toString().replace(/[\r\n]/g, ' ');
}
