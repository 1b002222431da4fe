import { Injectable, SetMetadata, type CanActivate, type CustomDecorator, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ROUTE_ACCESS, type RouteAccess } from '../http/route-access';
import { principalOf, type AuthenticatedRequest } from '../http/authenticated-request';
import { GatewayEnv } from '../gateway.env';
import { requestOf } from '../http/request-of';
import { RateLimiter, rateLimitError, type RateLimit } from './rate-limiter';
import { perMinute } from './rate-limits';
import { sourceOf } from '../http/source-address';

/** Classes of public routes; each class has its own limit. */
export type SourceLimitName = 'key-exchanges' | 'token-exchanges' | 'consent-pages';

const SOURCE_LIMIT = Symbol('source limit');

/** Marks a public route that is limited per source address, before its body is read. */
export function LimitedBySource(name: SourceLimitName): CustomDecorator<symbol> {
  return SetMetadata(SOURCE_LIMIT, name);
}

/** By what the requests of a route are counted. */
interface RouteLimit {
  readonly limit: RateLimit;
  readonly entityOf: (request: AuthenticatedRequest) => string;
}

/**
 * Limits whole classes of routes before their bodies are read: management routes per organization, public routes per
 * source address. Inference and batches have separate limits, which are counted when it is known what they ask for.
 * Runs after the bearer guard because its module is imported later.
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  private readonly limits = new WeakMap<Function, { readonly found: RouteLimit | null }>();
  private readonly management: RateLimit | null;
  private readonly bySource: Readonly<Record<SourceLimitName, RateLimit | null>>;

  constructor(
    private readonly reflector: Reflector,
    private readonly limiter: RateLimiter,
    env: GatewayEnv,
  ) {
    this.management = perMinute('management', env.MANAGEMENT_REQUESTS_PER_MINUTE);
    // Routes that give out keys or tokens are closed while requests cannot be counted.
    this.bySource = {
      'key-exchanges': perMinute('key-exchanges', env.KEY_EXCHANGES_PER_MINUTE, 'refuse'),
      'token-exchanges': perMinute('token-exchanges', env.TOKEN_EXCHANGES_PER_MINUTE, 'refuse'),
      'consent-pages': perMinute('consent-pages', env.CONSENT_REQUESTS_PER_MINUTE),
    };
  }

  canActivate(context: ExecutionContext): true | Promise<true> {
    const found = this.limitOf(context);
    if (found === null) return true;
    return this.count(found, requestOf<AuthenticatedRequest>(context));
  }

  private async count({ limit, entityOf }: RouteLimit, request: AuthenticatedRequest): Promise<true> {
    const verdict = await this.limiter.take(limit, entityOf(request));
    if (!verdict.allowed) throw rateLimitError(verdict);
    return true;
  }

  /** Limits by handler. Cached, because decorators do not change. */
  private limitOf(context: ExecutionContext): RouteLimit | null {
    const handler = context.getHandler();
    let known = this.limits.get(handler);
    if (known === undefined) this.limits.set(handler, (known = { found: this.readLimit(context) }));
    return known.found;
  }

  private readLimit(context: ExecutionContext): RouteLimit | null {
    const places = [context.getHandler(), context.getClass()];
    const name = this.reflector.getAllAndOverride<SourceLimitName | undefined>(SOURCE_LIMIT, places);
    if (name !== undefined) {
      const limit = this.bySource[name];
      return limit && { limit, entityOf: ({ ip }) => sourceOf(ip) };
    }
    const access = this.reflector.getAllAndOverride<RouteAccess | undefined>(ROUTE_ACCESS, places);
    if (access !== 'management') return null;
    return this.management && { limit: this.management, entityOf: (request) => principalOf(request).organizationId };
  }
}
