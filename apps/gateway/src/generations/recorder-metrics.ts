import { counter, gauge } from '@libs/platform';

export const opened = counter({ name: 'sluice_generations_opened_total', help: 'Calls whose hold was committed' });
export const unopened = counter({
  name: 'sluice_generations_unopened_total',
  help: 'Calls whose hold the database refused as invalid; each one is in the log',
});
export const spared = counter({
  name: 'sluice_generations_settled_at_once_total',
  help: 'Calls that were over before their hold was written',
});

/** Shows how many rows wait, by their kind. */
export function measureWaiting(rows: () => { readonly opening: number; readonly settlement: number }): void {
  gauge({
    name: 'sluice_generations_waiting',
    help: 'Rows that wait to be written',
    labelNames: ['kind'],
    collect: (metric) => {
      const { opening, settlement } = rows();
      metric.set({ kind: 'opening' }, opening);
      metric.set({ kind: 'settlement' }, settlement);
    },
  });
}
