import { parseLink } from '@libs/contracts';

/** A domain with all of its subdomains, or the part of it below a path. */
export interface Domain {
  readonly host: string;
  /** Begins with a slash and does not end with one; empty for the whole host. */
  readonly path: string;
}

const HOST = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)+$/;

/** Reads `example.com`, `*.example.com` or `example.com/docs`; null for anything else. */
export function readDomain(value: unknown): Domain | null {
  if (typeof value !== 'string' || value.length > 2_000) return null;
  const [, name = '', path = ''] = /^(?:\*\.)?([^/]*)(\/[^?#\s]*)?$/.exec(value.trim().toLowerCase()) ?? [];
  const host = parseLink(`https://${name}/`)?.hostname ?? '';
  return HOST.test(host) ? { host, path: path.replace(/\/+$/, '') } : null;
}

/** The pages that a request allows. If no domain is allowed explicitly, every one is. */
export class DomainRules {
  constructor(
    readonly allowed: readonly Domain[],
    readonly blocked: readonly Domain[],
  ) {}

  admits(url: URL): boolean {
    if (this.blocked.some((domain) => covers(domain, url))) return false;
    return this.allowed.length === 0 || this.allowed.some((domain) => covers(domain, url));
  }
}

function covers({ host, path }: Domain, url: URL): boolean {
  const hostname = url.hostname.replace(/\.$/, '');
  if (hostname !== host && !hostname.endsWith(`.${host}`)) return false;
  const { pathname } = url;
  return path === '' || pathname.toLowerCase() === path || pathname.toLowerCase().startsWith(`${path}/`);
}
