import { createHash } from 'node:crypto';
import { PARTY_NAMES, type PartyName } from '@libs/contracts';
import { brokerPolicies, permissionsOf } from '@libs/platform';
import { optionalText, type Command, type CommandArguments } from '../command';

/** Returns a RabbitMQ user with a password that all readers of the file know: for development only. */
function userWith(name: string, password: string, tags: string): object {
  const salt = createHash('sha256').update(name).digest().subarray(0, 4);
  const hash = createHash('sha256').update(salt).update(password).digest();
  const passwordHash = Buffer.concat([salt, hash]).toString('base64');
  return { name, password_hash: passwordHash, hashing_algorithm: 'rabbit_password_hashing_sha256', tags };
}

/** In the form of RabbitMQ's definitions, which `rabbitmqctl import_definitions` and `load_definitions` read. */
function definitions(args: CommandArguments): object {
  const vhost = optionalText(args, 'vhost') ?? '/';
  const password = optionalText(args, 'password');
  const nameOf = (party: PartyName): string => `${optionalText(args, 'prefix') ?? ''}${party}`;
  const permissions = PARTY_NAMES.map((party) => ({ user: nameOf(party), vhost, ...permissionsOf(party) }));
  const policies = brokerPolicies(vhost);
  if (password === undefined) return { permissions, policies };
  const everything = { configure: '.*', write: '.*', read: '.*' };
  return {
    users: [
      userWith('operator', password, 'administrator'),
      ...PARTY_NAMES.map((party) => userWith(nameOf(party), password, '')),
    ],
    vhosts: [{ name: vhost }],
    permissions: [{ user: 'operator', vhost, ...everything }, ...permissions],
    policies,
  };
}

export const brokerPermissions: Command = {
  name: 'broker permissions',
  summary: 'Print what the broker user of each app may do, and the bounds of queues, as definitions of RabbitMQ',
  usage: '[--vhost NAME] [--prefix TEXT] [--password TEXT]',
  options: { vhost: { type: 'string' }, prefix: { type: 'string' }, password: { type: 'string' } },
  positionals: [],
  async run(args) {
    const data = definitions(args);
    return { data, text: JSON.stringify(data, null, 2) };
  },
};
