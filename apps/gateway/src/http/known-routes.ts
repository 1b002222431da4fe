import { API_PREFIX, bareSegments } from './paths';

/** Matches one path segment of any text. */
const ANY = ':';

interface KnownRoute {
  readonly url: string;
  readonly segments: readonly string[];
  readonly methods: Set<string>;
}

/** Knows every path, to distinguish a wrong method (405) from a wrong path (404). Used only if no route matched. */
export class KnownRoutes {
  private readonly routes = new Map<string, KnownRoute>();

  /** Adds a route. `url` has parameters in the form `:name`, as in the router. */
  add(method: string | readonly string[], url: string): void {
    const segments = url.split('/').map((segment) => (segment.startsWith(':') ? ANY : segment));
    const key = segments.join('/');
    const route = this.routes.get(key) ?? { url, segments, methods: new Set<string>() };
    for (const each of [method].flat()) route.methods.add(each.toUpperCase());
    this.routes.set(key, route);
  }

  /** Returns the route that a path belongs to, with its methods in alphabetical order; null for an unknown path. */
  routeOf(path: string): { readonly url: string; readonly methods: readonly string[] } | null {
    const segments = path.split('/');
    const found = [...this.routes.values()].filter((route) => matches(route.segments, segments));
    const [first] = found.toSorted((one, other) => countAny(one) - countAny(other));
    if (first === undefined) return null;
    const methods = new Set(found.flatMap((route) => [...route.methods]));
    return { url: shownUrl(first), methods: [...methods].toSorted() };
  }

  /**
   * Returns the path of the most similar route for a wrong path, such as `/api/v1/batches/{id}`; null if none is
   * similar.
   */
  meantBy(path: string): string | null {
    if (!path.startsWith('/')) return null;
    const rest = bareSegments(path.toLowerCase());
    if (rest.length === 0) return null;
    const whole = [API_PREFIX, ''].map((prefix) => `${prefix}/${rest.join('/')}`.split('/'));
    const found = [...this.routes.values()]
      .filter(({ segments }) => whole.some((each) => matches(segments, each)))
      .toSorted((one, other) => countAny(one) - countAny(other));
    return found[0] === undefined ? null : shownUrl(found[0]);
  }
}

function shownUrl({ url }: KnownRoute): string {
  return url.replace(/:(\w+)/g, '{$1}');
}

function countAny({ segments }: KnownRoute): number {
  return segments.filter((segment) => segment === ANY).length;
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((part, index) => (part === ANY ? segments[index] !== '' : part === segments[index]))
  );
}
