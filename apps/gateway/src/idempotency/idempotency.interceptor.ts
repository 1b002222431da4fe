import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { readBearer } from '../auth/bearer';
import { principalOf, type AuthenticatedRequest } from '../http/authenticated-request';
import type { BodyRequest } from '../http/body.guard';
import { readIdempotencyKey } from './idempotency-key';
import { IdempotencyService, type IdempotentRequest } from './idempotency.service';

export const HOLDS_SECRET = Symbol('holds a secret');

/** A request with an effect id. */
export interface EffectRequest extends AuthenticatedRequest, Pick<BodyRequest, 'rawBody'> {
  effectId?: string;
}

/** Handles the `Idempotency-Key` of routes that take one; requests without a key pass unchanged. */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(
    private readonly idempotency: IdempotencyService,
    private readonly reflector: Reflector,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<EffectRequest>();
    const key = readIdempotencyKey(request.headers['idempotency-key']);
    if (key === null) return next.handle();
    const holdsSecret = this.reflector.get<boolean>(HOLDS_SECRET, context.getHandler());
    return from(this.answer(requestUnder(key, request, holdsSecret), context, next));
  }

  private async answer(wanted: IdempotentRequest, context: ExecutionContext, next: CallHandler): Promise<unknown> {
    const http = context.switchToHttp();
    const { answer, isReplayed } = await this.idempotency.once(wanted, (effectId) => {
      http.getRequest<EffectRequest>().effectId = effectId;
      return lastValueFrom(next.handle());
    });
    if (isReplayed) http.getResponse<FastifyReply>().header('idempotency-replayed', 'true');
    return answer;
  }
}

function requestUnder(key: string, request: EffectRequest, holdsSecret: boolean): IdempotentRequest {
  return {
    organizationId: principalOf(request).organizationId,
    route: `${request.method} ${pathOf(request)}`,
    key,
    body: request.rawBody ?? Buffer.alloc(0),
    sealWith: holdsSecret ? readBearer(request.raw.rawHeaders) : null,
  };
}

/** The route with the values in its path: the same key for another resource is another request. */
function pathOf({ routeOptions, params }: EffectRequest): string {
  const named = params as Readonly<Record<string, string>>;
  return (routeOptions.url ?? '').replace(/:(\w+)/g, (_whole, name: string) => encodeURIComponent(named[name] ?? ''));
}
