import {
  applyDecorators,
  createParamDecorator,
  SetMetadata,
  UseInterceptors,
  type ExecutionContext,
} from '@nestjs/common';
import type { EffectRequest } from './idempotency.interceptor';
import { HOLDS_SECRET, IdempotencyInterceptor } from './idempotency.interceptor';

export interface IdempotentOptions {
  /** True if the request or its answer contains a secret, so neither may be stored unencrypted. */
  readonly holdsSecret: boolean;
}

/**
 * The route accepts an `Idempotency-Key`: a repeated request with the same body is executed once and gets the same
 * answer for 24 hours. For routes that answer with an object and always with the same status.
 */
export function Idempotent({ holdsSecret }: IdempotentOptions): MethodDecorator {
  return applyDecorators(SetMetadata(HOLDS_SECRET, holdsSecret), UseInterceptors(IdempotencyInterceptor));
}

/** In an idempotent route: the UUID to use for created objects, the same for every attempt; otherwise undefined. */
export const EffectId = createParamDecorator(
  (_data: unknown, context: ExecutionContext): string | undefined =>
    context.switchToHttp().getRequest<EffectRequest>().effectId,
);
