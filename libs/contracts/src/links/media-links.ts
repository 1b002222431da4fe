import { isIP } from 'node:net';
import { linkHeadOf, LONGEST_LINK, placeOf, type LinkHead } from './link-head';
import { isPublicAddress, namesPrivateAddress } from './public-address';

/** A picture in a request body: more is refused before anybody decodes it. */
const LONGEST_DATA_URL = 20 * 1024 * 1024;

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const DATA_HEAD = /^data:[\w.+-]*\/?[\w.+-]*(?:;[\w.+=-]+)*;base64,/i;
/** Long enough for every media type and its parameters. */
const LONGEST_HEAD = 256;

/** Schemes of cloud storage. A provider opens such links with the rights of the account that calls it. */
const CLOUD_STORAGE = new Set(['gs:', 's3:', 'az:', 'abfs:', 'abfss:', 'wasb:', 'wasbs:', 'r2:', 'oss:', 'cos:']);

/** Returns whether a link names an object of cloud storage, such as `gs://bucket/object`. */
export function isCloudStorage(head: LinkHead): boolean {
  return CLOUD_STORAGE.has(`${head.scheme}:`) && placeOf(head) !== null;
}

/**
 * Last labels that are used inside networks and clusters, mostly by search domains: `vault.default` names a service of
 * a namespace. Except for `box`, which routers use, no public registry has them.
 */
const PRIVATE_LABELS: ReadonlySet<string> = new Set(
  (
    'localhost localdomain localnet local internal intern intranet intra private priv lan home corp workgroup arpa mail ' +
    'svc pod cluster default prod production staging uat kube-system kubernetes k8s consul nomad vault docker ' +
    'swarm mesos rancher box router gateway asus belkin dmz onion'
  ).split(' '),
);

/** Names below public labels that lead inside: Google's other name for the metadata service of a machine. */
const PRIVATE_NAMES: ReadonlySet<string> = new Set(['metadata.goog', 'metadata.tencentyun.com']);

/**
 * Checks a link to a picture, file or film: https or http to a public host, cloud storage, or a data URL of whole
 * base64. Routing sends cloud storage to endpoints with the caller's own credential only.
 */
export function findMediaLinkProblem(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return ' must be a URL';
  if (/^data:/i.test(value)) return findDataUrlProblem(value);
  return findAddressProblem(value);
}

/** Characters that parsers of URLs disagree on, so that they may find different hosts. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const READ_DIFFERENTLY = /[\u0000-\u001f\u007f\\]/;

function findAddressProblem(value: string): string | null {
  const head = value.length > LONGEST_LINK ? null : linkHeadOf(value.trim());
  return findPlaceProblem(value, head === null ? null : placeOf(head));
}

/** Checks a link by the host to which it leads; returns null for a link that no parser accepts. */
export function findPlaceProblem(value: string, place: URL | null): string | null {
  if (place === null || value.length > LONGEST_LINK || READ_DIFFERENTLY.test(value.trim())) return ' must be a URL';
  const { protocol, hostname, username, password } = place;
  if (CLOUD_STORAGE.has(protocol)) return null;
  if (protocol !== 'https:' && protocol !== 'http:') return ' must be an http, https or data URL';
  if (username !== '' || password !== '') return ' must not hold credentials';
  return isPrivateHost(hostname) ? ' must be on a public host' : null;
}

/** Returns whether a host, as URL parsers write it, is an address or a name inside a network. */
export function isPrivateHost(rooted: string): boolean {
  const hostname = rooted.replace(/\.$/, '');
  // Some resolvers skip an empty label, others look the name up unchanged.
  if (hostname.includes('..') || hostname.endsWith('.')) return true;
  const address = hostname.replace(/^\[|\]$/g, '');
  if (isIP(address) !== 0) return !isPublicAddress(address);
  if (PRIVATE_NAMES.has(hostname) || namesPrivateAddress(hostname)) return true;
  const lastDot = hostname.lastIndexOf('.');
  return lastDot === -1 || PRIVATE_LABELS.has(hostname.slice(lastDot + 1));
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

/** Checks the address of a server that a provider calls: it must be on a public host, and no file. */
export function findServerUrlProblem(url: unknown): string | null {
  if (url === undefined || url === null) return null;
  const problem = findMediaLinkProblem(url);
  if (problem !== null) return problem;
  return /^\s*https?:/i.test(String(url)) ? null : ' must be an http or https URL';
}
