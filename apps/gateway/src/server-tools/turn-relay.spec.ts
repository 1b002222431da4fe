import type { AnswerEvent } from '@libs/inference';
import { TurnRelay } from './turn-relay';

const call = (part: number, id: string): AnswerEvent => ({
  type: 'part-start',
  part,
  kind: 'tool-call',
  id,
  name: 'of_the_caller',
});

function relayWith(...callIds: string[]): TurnRelay {
  let part = 0;
  const scope = { tools: new Map(), showsItems: true, nextPart: () => (part += 1), callIds: new Set(callIds) };
  return new TurnRelay(scope, true);
}

const idsOf = (events: readonly AnswerEvent[]): unknown[] => events.map((event) => 'id' in event && event.id);

describe(TurnRelay.name, () => {
  it('keeps the id of a call that the conversation has not had', () => {
    expect(idsOf(relayWith('call_1').pass(call(0, 'call_0')))).toEqual(['call_0']);
  });

  it('gives a call another id than each that the conversation has had, whatever these are', () => {
    const relay = relayWith('call_0', 'call_0_2', 'call_0_3');
    expect(idsOf([...relay.pass(call(0, 'call_0')), ...relay.pass(call(1, 'call_0'))])).toEqual([
      'call_0_4',
      'call_0_5',
    ]);
    const short = relayWith('call_0', 'call_0_2');
    expect(idsOf(short.pass(call(0, 'call_0')))).toEqual(['call_0_3']);
  });
});
