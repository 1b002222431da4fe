import { Inject, Logger, Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { GatewayEnv } from '../gateway.env';
import { InferenceLimits } from './inference-limits';
import { RateLimitGuard } from './rate-limit.guard';
import { RateLimiter } from './rate-limiter';
import { RedisRateLimiter } from './redis-rate-limiter';

/**
 * Provides the RateLimiter, and applies the limits of whole classes of routes. The app starts and runs with or without
 * Redis.
 */
@Module({
  providers: [
    { provide: RateLimiter, inject: [GatewayEnv], useFactory: createLimiter },
    {
      provide: InferenceLimits,
      inject: [RateLimiter, GatewayEnv],
      useFactory: (limiter: RateLimiter, env: GatewayEnv) => new InferenceLimits(limiter, env),
    },
    { provide: APP_GUARD, useClass: RateLimitGuard },
  ],
  exports: [RateLimiter, InferenceLimits],
})
export class LimitsModule implements OnModuleInit, OnApplicationShutdown {
  constructor(@Inject(RateLimiter) private readonly limiter: RedisRateLimiter) {}

  async onModuleInit(): Promise<void> {
    await this.limiter.connect();
  }

  onApplicationShutdown(): void {
    this.limiter.close();
  }
}

function createLimiter(env: GatewayEnv): RedisRateLimiter {
  const logger = new Logger('RateLimiter');
  return new RedisRateLimiter({
    url: env.REDIS_URL,
    keyPrefix: env.REDIS_KEY_PREFIX,
    replicas: env.GATEWAY_REPLICAS,
    onStateChange: (state) => {
      if (state === 'lost') logger.warn('Redis is away: this process limits on its own');
      else logger.log('Redis is back');
    },
  });
}
