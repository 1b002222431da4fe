import {
  allContracts,
  CHANGES_OF,
  FEED_NAMES,
  JOB_SENDERS,
  PARTY_NAMES,
  queues,
  type CallContract,
  type PartyName,
  type QueueSpec,
} from '@libs/contracts';
import { exchangeOf as feedExchangeOf } from '../feeds/feeds';
import { replyExchangeOf } from './signatures';
import { exchangeOf, queueDeclarations } from './topology';

/** What a broker user may do in the virtual host: regular expressions for the names of queues and exchanges. */
export interface BrokerPermissions {
  readonly configure: string;
  readonly write: string;
  readonly read: string;
}

const ALL_QUEUES: readonly QueueSpec[] = Object.values(queues);
const JOBS = ALL_QUEUES.filter(({ kind }) => kind === 'job');
const CALLS = allContracts.filter((contract): contract is CallContract<object, object> => contract.kind === 'call');

/**
 * Returns the broker permissions of an app, derived from the contracts: who owns which queue, who calls whom, who
 * follows which feed. No app may write to the default exchange, which leads to every queue.
 */
export function permissionsOf(party: PartyName): BrokerPermissions {
  const asked = CALLS.filter(({ askedBy }) => askedBy.includes(party)).map(({ queue }) => exactly(exchangeOf(queue)));
  const askers = PARTY_NAMES.filter((asker) =>
    CALLS.some(({ queue, askedBy }) => queue.owner === party && askedBy.includes(asker)),
  );
  const published = feedsWhere(({ queue }) => queue.owner === party);
  const followed = feedsWhere(({ askedBy }) => askedBy.includes(party));
  const held = [
    ...callsOf(party),
    ...jobsOf(party),
    ...(asked.length > 0 ? [below(replyExchangeOf(party))] : []),
    ...(followed.length > 0 ? [below(`events.${party}`)] : []),
  ];
  const answered = askers.map((asker) => exactly(replyExchangeOf(asker)));
  return {
    configure: oneOf([...held, ...published]),
    write: oneOf([...held, ...published, ...asked, ...answered, ...jobsSentBy(party)]),
    read: oneOf([...held, ...followed]),
  };
}

function callsOf(party: PartyName): readonly string[] {
  const own = ALL_QUEUES.filter(({ kind, owner }) => kind === 'call' && owner === party);
  return own.flatMap((queue) => [exactly(queue.name), exactly(exchangeOf(queue))]);
}

/** Only the owner of a job queue may declare, read and delete it, and no other queue with its name as a prefix. */
function jobsOf(party: PartyName): readonly string[] {
  return JOBS.filter(({ owner }) => owner === party).flatMap((queue) =>
    queueDeclarations(queue).map(({ name }) => exactly(name)),
  );
}

/** The exchanges that jobs are sent to. */
function jobsSentBy(party: PartyName): readonly string[] {
  return JOB_SENDERS.some((sender) => sender === party) ? JOBS.map((queue) => exactly(exchangeOf(queue))) : [];
}

function feedsWhere(isIt: (contract: (typeof CHANGES_OF)['access']) => boolean): readonly string[] {
  return FEED_NAMES.filter((feed) => isIt(CHANGES_OF[feed])).map((feed) => exactly(feedExchangeOf(feed)));
}

const exactly = (name: string): string => name.replaceAll('.', String.raw`\.`);
/** A name, and all that begin with it and a dot. */
const below = (name: string): string => String.raw`${exactly(name)}(\..+)?`;
const oneOf = (names: readonly string[]): string => `^(${[...new Set(names)].join('|')})$`;
