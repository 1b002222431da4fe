import { withoutEdges } from './link-head';
import { isPrivateHost } from './media-links';

/** Longer than a name with its port can be. */
const LONGEST_HOST = 300;
const USER = String.raw`(?:[^\s/@]{1,64}@)?`;
/** A whole IPv4 address that is no range of addresses such as `10.0.0.0/8`, an IPv6 address, or a name. */
const HOST = String.raw`((?:\d{1,3}\.){3}\d{1,3}(?!\/\d{1,2}$)|\[[\da-f:.]{2,45}\]|localhost|(?:[\w-]+\.)+[a-z][a-z\d-]*)`;
const HOST_ALONE = new RegExp(`^${USER}${HOST}$`, 'i');
const HOST_AND_MORE = new RegExp(String.raw`^${USER}${HOST}(?::\d{1,5}(?=[/\\?#]|$)|[/\\?#])`, 'i');
/** Fields that contain a host or a link by their name. */
const HOST_NAME = /(?:^|_)(?:hosts?|hostname|endpoint|server|origin|proxy|href|src|callback)$/i;

/**
 * Checks a text that some programs read as a link without a scheme: `localhost:8080` or `10.0.0.1/x`, and a host alone
 * in a field whose name says so. Only private hosts are refused, because much other text has this form.
 */
export function findHostProblem(name: string, value: string): string | null {
  const text = withoutEdges(value);
  const found = HOST_AND_MORE.exec(text.slice(0, LONGEST_HOST)) ?? (HOST_NAME.test(name) ? hostAlone(text) : null);
  if (found === null || /\s/.test(text)) return null;
  const host = found[1]!.toLowerCase();
  // Only a parser reads an address with leading zeros.
  const read = /^[\d.[]/.test(host) ? URL.parse(`http://${host}`)?.hostname : host;
  return read !== undefined && isPrivateHost(read) ? ' must be on a public host' : null;
}

function hostAlone(text: string): RegExpExecArray | null {
  return text.length > LONGEST_HOST ? null : HOST_ALONE.exec(text);
}
