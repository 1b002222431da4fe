import { withoutEdges } from './link-head';
import { isPrivateHost } from './media-links';

/** Longer than a name with its port can be. */
const LONGEST_HOST = 300;
const USER = String.raw`(?:[^\s/\\?#]{1,255}@)?`;
/** Four numbers, of which parsers also accept octal and hexadecimal ones; a single one only in hexadecimal. */
const ADDRESS = String.raw`(?:(?:0x[\da-f]{1,8}|\d{1,11})\.){3}(?:0x[\da-f]{1,8}|\d{1,11})|0x0{0,4}[\da-f]{7,8}`;
const RANGE = String.raw`\/(?:\d|[12]\d|3[0-2])$`;
/** An address that is no range of addresses such as `10.0.0.0/8`, or a name; both may end with a dot. */
const HOST = String.raw`((?:${ADDRESS})\.?(?!${RANGE})|(?:localhost|(?:[\w-]+\.)+[a-z][a-z\d-]*)\.?|\[[\da-f:.]{2,45}\])`;
const HOST_ALONE = new RegExp(`^${USER}${HOST}$`, 'i');
const HOST_AND_MORE = new RegExp(String.raw`^${USER}${HOST}(?::\d+$|(?::\d*)?[/\\?#])`, 'i');
/** Fields that contain a host or a link by their name. */
const HOST_NAME = /(?:^|_)(?:hosts?|hostname|endpoint|server|origin|proxy|href|src|callback)$/i;

/**
 * Checks a text that some programs read as a link without a scheme: `localhost:8080` or `10.0.0.1/x`, and a host alone
 * in a field whose name says so. Only private hosts are refused, because much other text has this form.
 */
export function findHostProblem(name: string, value: string): string | null {
  const text = withoutEdges(value);
  const head = withPlainHost(text.slice(0, LONGEST_HOST));
  const found = HOST_AND_MORE.exec(head) ?? (HOST_NAME.test(name) ? hostAlone(text, head) : null);
  if (found === null || /\s/.test(text)) return null;
  const host = found[1]!.toLowerCase();
  // Only a parser reads an address with leading zeros.
  const read = /^[\d.[]/.test(host) ? URL.parse(`http://${host}`)?.hostname : host;
  return read !== undefined && isPrivateHost(read) ? ' must be on a public host' : null;
}

function hostAlone(text: string, head: string): RegExpExecArray | null {
  return text.length > LONGEST_HOST ? null : HOST_ALONE.exec(head);
}

const ASCII = /^[\0-\u007f]*$/;
/** Characters that are left out of a name before it is looked up. */
const LEFT_OUT = /\p{Default_Ignorable_Code_Point}/gu;

/** Writes a host at the beginning of a text as it is looked up: `１２７。0。0。1` is `127.0.0.1`. */
export function withPlainHost(text: string): string {
  const head = text.slice(0, LONGEST_HOST);
  if (ASCII.test(head)) return text;
  return head.normalize('NFKC').replace(LEFT_OUT, '').replaceAll('\u3002', '.') + text.slice(LONGEST_HOST);
}
