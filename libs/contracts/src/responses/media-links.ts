import { BlockList, isIP } from 'node:net';

/** A picture in a request body: more is refused before anybody decodes it. */
const LONGEST_DATA_URL = 20 * 1024 * 1024;
const LONGEST_LINK = 8_192;

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const DATA_HEAD = /^data:[\w.+-]*\/?[\w.+-]*(?:;[\w.+=-]+)*;base64,/i;
/** Long enough for every media type and its parameters. */
const LONGEST_HEAD = 256;

/** Addresses that only mean something inside a network (RFC 6890); no provider shall be sent there for us. */
const PRIVATE = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const) {
  PRIVATE.addSubnet(network, prefix, 'ipv4');
}
for (const [network, prefix] of [
  ['::', 127],
  ['64:ff9b::', 96],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const) {
  PRIVATE.addSubnet(network, prefix, 'ipv6');
}

const PRIVATE_NAMES = /(?:^|\.)(?:localhost|local|internal|lan|home\.arpa)\.?$/i;

/** Checks a link to a picture, file or film: https or http to a public host, or a data URL of whole base64. */
export function findMediaLinkProblem(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return ' must be a URL';
  if (/^data:/i.test(value)) return findDataUrlProblem(value);
  if (value.length > LONGEST_LINK || !URL.canParse(value)) return ' must be a URL';
  const { protocol, hostname, username } = new URL(value);
  if (protocol !== 'https:' && protocol !== 'http:') return ' must be an http, https or data URL';
  if (username !== '') return ' must not hold credentials';
  return isPrivateHost(hostname) ? ' must be on a public host' : null;
}

function isPrivateHost(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '');
  const family = isIP(address);
  if (family !== 0) return PRIVATE.check(address, family === 6 ? 'ipv6' : 'ipv4');
  return PRIVATE_NAMES.test(hostname) || !hostname.includes('.');
}

function findDataUrlProblem(value: string): string | null {
  if (value.length > LONGEST_DATA_URL) return ` must not be longer than ${LONGEST_DATA_URL} characters`;
  const head = DATA_HEAD.exec(value.slice(0, LONGEST_HEAD))?.[0];
  if (head === undefined) return ' must be a data URL in base64';
  return isBase64(value.slice(head.length)) ? null : ' must be a data URL of whole base64';
}

/** Whole, padded, standard base64 of at least one byte. */
export function isBase64(data: string): boolean {
  return data.length > 0 && data.length % 4 === 0 && BASE64.test(data);
}
