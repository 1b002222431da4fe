import type { Handle } from './reply';

export interface Route {
  readonly method: string;
  /** With at most one `{id}`, which matches one segment. */
  readonly path: string;
  readonly limitBytes: number;
  /** May be called without a key. */
  readonly isOpen?: boolean;
  readonly handle: Handle;
}

export interface RouteMatch {
  readonly route: Route;
  /** `POST /v1/chat/completions`: under this name the call is counted. */
  readonly name: string;
  readonly id: string;
}

interface PatternRoute {
  readonly match: RouteMatch;
  readonly segments: readonly string[];
}

/** Finds the route of a call: a fixed path by one look-up, a path with an id by comparing segments. */
export class RouteTable {
  private readonly fixed = new Map<string, RouteMatch>();
  private readonly patterns: PatternRoute[] = [];

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      const match = { route, name: `${route.method} ${route.path}`, id: '' };
      if (route.path.includes('{id}')) this.patterns.push({ match, segments: route.path.split('/') });
      else this.fixed.set(match.name, match);
    }
  }

  find(method: string, path: string): RouteMatch | null {
    const fixed = this.fixed.get(`${method} ${path}`);
    if (fixed) return fixed;
    const segments = path.split('/');
    for (const pattern of this.patterns) {
      if (pattern.match.route.method !== method) continue;
      const id = idIn(segments, pattern.segments);
      if (id !== null) return { ...pattern.match, id };
    }
    return null;
  }

  /** Whether the path exists under another method. */
  knowsPath(path: string): boolean {
    return ['GET', 'POST', 'DELETE'].some((method) => this.find(method, path) !== null);
  }
}

function idIn(segments: readonly string[], pattern: readonly string[]): string | null {
  if (segments.length !== pattern.length) return null;
  let id = '';
  for (const [index, expected] of pattern.entries()) {
    const segment = segments[index] ?? '';
    if (expected === '{id}') id = segment;
    else if (segment !== expected) return null;
  }
  return id === '' ? null : decodeOrKeep(id);
}

function decodeOrKeep(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
