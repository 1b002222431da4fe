import { emptyUsage } from '@libs/inference';
import { LoopBill } from './loop-bill';
import { failedUse } from './server-tool';
import { found } from './testing/fake-tool';
import { SERVED } from './testing/scripted-engine';

const { endpoint } = SERVED;
const COST = { totalCost: 3n, promptCost: 2n, completionCost: 1n };

describe(LoopBill.name, () => {
  it('sums up the tokens of media too, where a turn has any', () => {
    const bill = new LoopBill();
    bill.addTurn({ endpoint, usage: { ...emptyUsage('upstream'), promptTokens: 5, videoPromptTokens: 3 }, cost: COST });
    bill.addTurn({
      endpoint,
      usage: { ...emptyUsage('upstream'), promptTokens: 6, imageCompletionTokens: 2 },
      cost: COST,
    });
    bill.addTurn({ endpoint, usage: { ...emptyUsage('upstream'), videoPromptTokens: 4 }, cost: COST });
    const { usage } = bill.bill;
    expect(usage).toMatchObject({ promptTokens: 11, videoPromptTokens: 7, imageCompletionTokens: 2 });
    expect(usage).not.toHaveProperty('filePromptTokens');
  });

  it('charges the fee of a tool that used a key of the caller, and reports what the key owner pays', () => {
    const bill = new LoopBill();
    const ownKey = { upstreamCost: 100n, byokFee: 5n };
    bill.addTurn({ endpoint, usage: emptyUsage('upstream'), cost: COST });
    bill.addUse('image_generation', found('Painted.', { costPicoUsd: 5n, ownKey }));
    bill.addUse('image_generation', found('Painted.', { costPicoUsd: 100n }));
    bill.addTurn({ endpoint, usage: emptyUsage('upstream'), cost: { ...COST, upstreamCost: 20n, byokFee: 1n } });
    expect(bill.charge.cost).toMatchObject({ totalCost: 111n, upstreamCost: 120n, byokFee: 6n });
  });

  it('counts the searches that were made, and every use of a tool', () => {
    const bill = new LoopBill();
    bill.addUse('web_search', found('Found.', { costPicoUsd: 5n }));
    bill.addUse('web_search', failedUse('No more searches are allowed in this request.'));
    expect(bill.bill.tools).toMatchObject({ executed: 2, webSearches: 1, cost: 5n });
    expect(bill.uses).toEqual({ web_search: 2 });
  });

  it('counts what all searches found, and names the engine', () => {
    const bill = new LoopBill();
    expect(bill.search).toBeUndefined();
    bill.addUse('web_search', found('None.', { search: { engine: 'exa', results: 0 } }));
    bill.addUse('web_fetch', found('A page.'));
    bill.addUse('web_search', found('Found.', { search: { engine: 'exa', results: 3 } }));
    expect(bill.search).toEqual({ engine: 'exa', results: 3 });
  });
});
