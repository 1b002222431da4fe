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
  /** The request or its answer holds a secret, so neither may be kept in the clear. */
  readonly holdsSecret: boolean;
}

/**
 * The route takes an `Idempotency-Key`: asked twice with the same body, it does its work once and answers alike
 * for 24 hours. For routes that answer with an object, always with the same status.
 */
export function Idempotent({ holdsSecret }: IdempotentOptions): MethodDecorator {
  return applyDecorators(SetMetadata(HOLDS_SECRET, holdsSecret), UseInterceptors(IdempotencyInterceptor));
}

/** Of an idempotent route: the UUID under which it makes what it makes, the same for every try; else undefined. */
export const EffectId = createParamDecorator(
  (_data: unknown, context: ExecutionContext): string | undefined =>
    context.switchToHttp().getRequest<EffectRequest>().effectId,
);
