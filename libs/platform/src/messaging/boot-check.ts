import type { Contract, QueueSpec } from '@libs/contracts';

export interface RegisteredHandler {
  /** Undefined for a handler that was not declared with `@Handles`. */
  readonly contract: Contract | undefined;
  /** `Class.method` or the raw pattern. */
  readonly where: string;
}

/**
 * Returns the problems with the handlers of a process that consumes `queues`. Empty if each contract of those queues
 * has exactly one handler, and no handler waits for messages that never arrive here.
 */
export function findHandlerProblems(
  queues: readonly QueueSpec[],
  contracts: readonly Contract[],
  handlers: readonly RegisteredHandler[],
): string[] {
  const consumed = new Set(queues.map(({ name }) => name));
  return [
    ...doubledNames(contracts),
    ...contracts
      .filter(({ queue }) => consumed.has(queue.name))
      .flatMap((contract) => ownerProblems(contract, handlers)),
    ...handlers.flatMap((handler) => strayProblems(handler, consumed, contracts)),
  ];
}

function doubledNames(contracts: readonly Contract[]): string[] {
  const seen = new Set<string>();
  return contracts.flatMap(({ name }) => {
    if (seen.has(name)) return [`contract ${name} is listed twice`];
    seen.add(name);
    return [];
  });
}

function ownerProblems(contract: Contract, handlers: readonly RegisteredHandler[]): string[] {
  const owners = handlers.filter((handler) => handler.contract?.name === contract.name);
  if (owners.length === 1) return [];
  if (owners.length === 0) return [`contract ${contract.name} has no handler`];
  return [`contract ${contract.name} has ${owners.length} handlers: ${owners.map(({ where }) => where).join(', ')}`];
}

function strayProblems(
  { contract, where }: RegisteredHandler,
  consumed: ReadonlySet<string>,
  contracts: readonly Contract[],
): string[] {
  if (!contract) return [`handler ${where} was not declared with @Handles`];
  if (!consumed.has(contract.queue.name)) {
    return [`handler ${where} is for ${contract.name} of queue ${contract.queue.name}, which is not consumed here`];
  }
  if (contracts.includes(contract)) return [];
  return [`handler ${where} is for ${contract.name}, which is not in the list of contracts`];
}
