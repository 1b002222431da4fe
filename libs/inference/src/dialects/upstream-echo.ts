import { StringDecoder } from 'node:string_decoder';
import { findValue } from '@libs/json';
import type { AnswerContext } from './dialect';

const MEMBER = 'echo_upstream_body';
/** Bytes of the upstream body that are echoed. An echo waits in memory until its caller reads it. */
const LONGEST_ECHO_BYTES = 64 * 1024;

/**
 * Returns the context of a stream with the body sent upstream, if the caller asked to see it
 * (`debug.echo_upstream_body`). Of a long body, only the beginning, as text.
 */
export function withEcho(context: AnswerContext, asked: Buffer, sent: Buffer): AnswerContext {
  const isAsked = asked.includes(MEMBER) && findValue(asked, ['debug', MEMBER])?.toString() === 'true';
  return isAsked ? { ...context, echoedBody: echoOf(sent) } : context;
}

function echoOf(sent: Buffer): string {
  if (sent.length <= LONGEST_ECHO_BYTES) return inOneLine(sent);
  // StringDecoder leaves out a character that is cut at the end.
  const beginning = new StringDecoder('utf8').write(sent.subarray(0, LONGEST_ECHO_BYTES));
  return JSON.stringify({ is_truncated: true, length_bytes: sent.length, beginning });
}

/** Returns JSON in one line, as event data must be. Line breaks can only be white space between JSON tokens. */
function inOneLine(json: Buffer): string {
  return json.toString().replace(/[\r\n]/g, ' ');
}
