/** The three servers that Sluice needs. */
export type ServiceName = 'postgres' | 'rabbitmq' | 'redis';

export const SERVICE_NAMES: readonly ServiceName[] = ['postgres', 'rabbitmq', 'redis'];

export interface ServiceKind {
  readonly title: string;
  /** The environment variable that names the server. */
  readonly variable: 'DATABASE_URL' | 'AMQP_URL' | 'REDIS_URL';
  /** Default port and default logins, in the order they are tried. */
  readonly defaultUrls: readonly string[];
  /** Its port inside the containers of docker-compose.yml, and its URL with the login for these. */
  readonly containerPort: number;
  readonly containerUrl: (address: string) => string;
  /** Its package on Debian and Ubuntu. */
  readonly debianPackage: string;
}

export const SERVICE_KINDS: Readonly<Record<ServiceName, ServiceKind>> = {
  postgres: {
    title: 'PostgreSQL',
    variable: 'DATABASE_URL',
    defaultUrls: [
      'postgres://postgres@127.0.0.1:5432/postgres',
      'postgres://postgres:postgres@127.0.0.1:5432/postgres',
    ],
    containerPort: 5432,
    containerUrl: (address) => `postgres://postgres:dev-only@${address}/postgres`,
    debianPackage: 'postgresql',
  },
  rabbitmq: {
    title: 'RabbitMQ',
    variable: 'AMQP_URL',
    defaultUrls: ['amqp://guest:guest@127.0.0.1:5672'],
    containerPort: 5672,
    containerUrl: (address) => `amqp://operator:dev-only@${address}`,
    debianPackage: 'rabbitmq-server',
  },
  redis: {
    title: 'Redis',
    variable: 'REDIS_URL',
    defaultUrls: ['redis://127.0.0.1:6379'],
    containerPort: 6379,
    containerUrl: (address) => `redis://${address}`,
    debianPackage: 'redis-server',
  },
};

export interface FoundService {
  readonly name: ServiceName;
  readonly url: string;
  readonly source: 'environment' | 'localhost' | 'docker' | 'private';
  /** Stops the server that this process started; absent for any other server. */
  readonly stop?: () => Promise<void>;
}

/** A URL that may be printed. */
export function withoutPassword(url: string): string {
  return URL.canParse(url) ? url.replace(/^([a-z]+:\/\/[^:@/]*):[^@]*@/, '$1:***@') : '(not a URL)';
}
