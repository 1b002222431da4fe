import {
  allContracts,
  APP_NAMES,
  FEED_NAMES,
  CHANGES_OF,
  JOB_SENDERS,
  PARTY_NAMES,
  queues,
  type AppName,
  type PartyName,
  type QueueSpec,
} from '@libs/contracts';
import { exchangeOf as feedExchangeOf } from '../feeds/feeds';
import { replyExchangeOf } from './signatures';
import { exchangeOf } from './topology';

/** What a broker user may do in the virtual host: regular expressions over the names of queues and exchanges. */
export interface BrokerPermissions {
  readonly configure: string;
  readonly write: string;
  readonly read: string;
}

const isApp = (party: PartyName): party is AppName => APP_NAMES.some((app) => app === party);
const quoted = (name: string): string => name.replaceAll('.', String.raw`\.`);
const oneOf = (names: readonly string[]): string => (names.length === 0 ? '^$' : `^(${names.join('|')})$`);
/** A name and all names below it. */
const below = (name: string): string => `${quoted(name)}(\\..+)?`;

/**
 * What a party's broker user needs, from the contracts: who asks whom, who owns which queue, who follows which feed. The
 * default exchange, by which any queue can be reached, is in none of them.
 */
export function permissionsOf(party: PartyName): BrokerPermissions {
  const own = Object.values(queues).filter(({ owner }) => owner === party) as readonly QueueSpec[];
  const ownCalls = own.filter(({ kind }) => kind === 'call');
  // Senders declare job queues as their owners do, so that a job waits for an owner that comes later.
  const sends = isApp(party) && JOB_SENDERS.includes(party);
  const jobs = Object.values(queues).filter(({ kind, owner }) => kind === 'job' && (owner === party || sends));
  const calls = allContracts.filter((contract) => contract.kind === 'call');
  const asked = calls.filter(({ askedBy }) => askedBy.includes(party)).map(({ queue }) => quoted(exchangeOf(queue)));
  const askers = PARTY_NAMES.filter((asker) =>
    calls.some(({ queue, askedBy }) => queue.owner === party && askedBy.includes(asker)),
  );
  const published = FEED_NAMES.filter((feed) => CHANGES_OF[feed].queue.owner === party).map(quotedFeed);
  const followed = FEED_NAMES.filter((feed) => CHANGES_OF[feed].askedBy.includes(party)).map(quotedFeed);
  const answered = [...ownCalls.map(({ name }) => quoted(name)), ...ownCalls.map((queue) => quoted(exchangeOf(queue)))];
  const jobNames = jobs.map(({ name }) => below(name));
  const ends = [
    ...(asked.length > 0 ? [below(replyExchangeOf(party))] : []),
    ...followed.slice(0, 1).map(() => `events\\.${party}\\..+`),
  ];
  const held = [...answered, ...jobNames, ...ends];
  return {
    configure: regex([...held, ...published, ...followed]),
    write: regex([...held, ...published, ...asked, ...askers.map((asker) => quoted(replyExchangeOf(asker)))]),
    read: regex([...held, ...followed]),
  };
}

const quotedFeed = (feed: (typeof FEED_NAMES)[number]): string => quoted(feedExchangeOf(feed));
const regex = (names: readonly string[]): string => oneOf([...new Set(names)]);
