/**
 * PostgreSQL, RabbitMQ and Redis as private instances: own free ports on loopback, own data in the given folder, own
 * passwords. For `npm run up` and `npm test` on a machine without running servers, and for tests that must kill a
 * server, which must not be one of the machine's.
 *
 * A server ends with the process that started it, however that process ends.
 */
export type { PrivateServer } from './services/private-process';
export { hasPostgresPrograms, startPrivatePostgres } from './services/private-postgres';
export { hasRabbitPrograms, startPrivateRabbit, vhostDefinitions } from './services/private-rabbit';
export { hasRedisPrograms, startPrivateRedis } from './services/private-redis';
