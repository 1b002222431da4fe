import { StringDecoder } from 'node:string_decoder';
import type { AnswerContext } from './dialect';
import { findValue } from '../json/json-members';

const MEMBER = 'echo_upstream_body';
/** Of what the upstream was sent. An echo waits in memory until its caller reads it. */
const LONGEST_ECHO_BYTES = 64 * 1024;

/**
 * The context of a stream whose caller may have asked to see the body that the upstream was sent
 * (`debug.echo_upstream_body`, interface §4.4). Of a long body it sees the beginning, as text.
 */
export function withEcho(context: AnswerContext, asked: Buffer, sent: Buffer): AnswerContext {
  const isAsked = asked.includes(MEMBER) && findValue(asked, ['debug', MEMBER])?.toString() === 'true';
  return isAsked ? { ...context, echoedBody: echoOf(sent) } : context;
}

function echoOf(sent: Buffer): string {
  if (sent.length <= LONGEST_ECHO_BYTES) return inOneLine(sent);
  // A decoder gives no part of a character.
  const beginning = new StringDecoder('utf8').write(sent.subarray(0, LONGEST_ECHO_BYTES));
  return JSON.stringify({ is_truncated: true, length_bytes: sent.length, beginning });
}

/** As the data of an event has to be. Outside of strings, where JSON has no line breaks, they are only white space. */
function inOneLine(json: Buffer): string {
  return json.toString().replace(/[\r\n]/g, ' ');
}
