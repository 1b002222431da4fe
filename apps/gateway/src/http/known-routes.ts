import { slipsBetween } from '@libs/contracts';
import { API_PREFIX, bareSegments, isUnder } from './paths';

/** Matches one path segment of any text. */
const ANY = ':';
/** Such as `/openai/deployments/{name}`. */
const MOST_PREFIX_PARTS = 4;
/** Longer paths are not compared with the routes letter by letter. */
const MOST_MISSPELT_PARTS = 4;

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
    const found = this.similarTo(rest);
    const behind = found.length > 0 || isUnder(API_PREFIX, path) ? [] : this.behindPrefix(rest);
    const [first] = [...found, ...behind].toSorted((one, other) => countAny(one) - countAny(other));
    const meant = first ?? this.misspelt(rest);
    return meant === null ? null : shownUrl(meant);
  }

  private similarTo(rest: readonly string[]): readonly KnownRoute[] {
    const whole = [API_PREFIX, ''].map((prefix) => `${prefix}/${rest.join('/')}`.split('/'));
    return [...this.routes.values()].filter(({ segments }) => whole.some((each) => matches(segments, each)));
  }

  /** Returns the route of which a path is a misspelling, such as `/v1/message`; null if there is none. */
  private misspelt(rest: readonly string[]): KnownRoute | null {
    if (rest.length > MOST_MISSPELT_PARTS) return null;
    const slips = [...this.routes.values()].flatMap((route) => {
      const count = slipsFrom(bareSegments(route.url), rest);
      return count === null ? [] : [{ route, count }];
    });
    const [nearest] = slips.toSorted((one, other) => one.count - other.count);
    return nearest?.route ?? null;
  }

  /** Returns the routes without an id with which a path ends: other services have theirs below a prefix. */
  private behindPrefix(rest: readonly string[]): readonly KnownRoute[] {
    for (let start = 1; start < Math.min(rest.length, MOST_PREFIX_PARTS + 1); start += 1) {
      const found = this.similarTo(bareSegments(rest.slice(start).join('/'))).filter((route) => countAny(route) === 0);
      if (found.length > 0) return found;
    }
    return [];
  }
}

function shownUrl({ url }: KnownRoute): string {
  return url.replace(/:(\w+)/g, '{$1}');
}

function countAny({ segments }: KnownRoute): number {
  return segments.filter((segment) => segment === ANY).length;
}

/** Returns how many slips are in the fixed parts of a path; null if it is no misspelling of the route. */
function slipsFrom(pattern: readonly string[], segments: readonly string[]): number | null {
  if (pattern.length !== segments.length) return null;
  let sum = 0;
  for (const [index, part] of pattern.entries()) {
    const isSame = part.startsWith(ANY) || part === segments[index];
    const slips = isSame ? 0 : slipsBetween(part, segments[index]!);
    if (slips === null) return null;
    sum += slips;
  }
  return sum;
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((part, index) => (part === ANY ? segments[index] !== '' : part === segments[index]))
  );
}
