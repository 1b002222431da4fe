import { Injectable, SetMetadata, type CanActivate, type CustomDecorator, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ROUTE_ACCESS, type RouteAccess } from '../auth/access.decorators';
import { principalOf, type AuthenticatedRequest } from '../auth/caller.decorator';
import { GatewayEnv } from '../gateway.env';
import { requestOf } from '../http/request-of';
import { RateLimiter, rateLimitError, type RateLimit } from './rate-limiter';
import { perMinute } from './rate-limits';
import { sourceOf } from './source-address';

const GIVES_OUT_KEYS = Symbol('gives out keys');

/** The route gives a key to whoever knows a secret: limited per source address, and closed while nobody can count. */
export function GivesOutKeys(): CustomDecorator<symbol> {
  return SetMetadata(GIVES_OUT_KEYS, true);
}

/** By whom a route is counted. */
interface RouteLimit {
  readonly limit: RateLimit;
  readonly entityOf: (request: AuthenticatedRequest) => string;
}

/**
 * Limits of whole classes of routes, before their bodies are read: management routes per organization, routes
 * that give out keys per source address. Inference and batches have limits of their own, counted where it is
 * known what they ask for. It stands behind the bearer guard because its module is imported after that guard's.
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  private readonly limits = new WeakMap<Function, { readonly found: RouteLimit | null }>();
  private readonly management: RateLimit | null;
  private readonly keyExchanges: RateLimit | null;

  constructor(
    private readonly reflector: Reflector,
    private readonly limiter: RateLimiter,
    env: GatewayEnv,
  ) {
    this.management = perMinute('management', env.MANAGEMENT_REQUESTS_PER_MINUTE);
    this.keyExchanges = perMinute('key-exchanges', env.KEY_EXCHANGES_PER_MINUTE, 'refuse');
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

  /** By handler: decorators do not change. */
  private limitOf(context: ExecutionContext): RouteLimit | null {
    const handler = context.getHandler();
    let known = this.limits.get(handler);
    if (known === undefined) this.limits.set(handler, (known = { found: this.readLimit(context) }));
    return known.found;
  }

  private readLimit(context: ExecutionContext): RouteLimit | null {
    const places = [context.getHandler(), context.getClass()];
    if (this.reflector.getAllAndOverride<boolean | undefined>(GIVES_OUT_KEYS, places) === true) {
      return this.keyExchanges && { limit: this.keyExchanges, entityOf: ({ ip }) => sourceOf(ip) };
    }
    const access = this.reflector.getAllAndOverride<RouteAccess | undefined>(ROUTE_ACCESS, places);
    if (access !== 'management') return null;
    return this.management && { limit: this.management, entityOf: (request) => principalOf(request).organizationId };
  }
}
