import { Column } from 'typeorm';

const money = (name: string) => ({ type: 'numeric', precision: 38, scale: 12, name, default: 0 }) as const;

/**
 * What was set aside and spent, as a row that limits are judged by holds it. The figures of a day, week and month are
 * those of the periods that `spent_on` lies in; in a later period they count for nothing.
 */
export abstract class SpendingFigures {
  @Column(money('held_usd'))
  heldUsd: string;

  /** UTC day of the last charge. */
  @Column({ type: 'date', name: 'spent_on', default: '1970-01-01' })
  spentOn: string;

  @Column(money('total_usd'))
  totalUsd: string;

  @Column(money('day_usd'))
  dayUsd: string;

  @Column(money('week_usd'))
  weekUsd: string;

  @Column(money('month_usd'))
  monthUsd: string;

  /** What the owner's own providers charged, by their list prices; like the next three. */
  @Column(money('byok_total_usd'))
  byokTotalUsd: string;

  @Column(money('byok_day_usd'))
  byokDayUsd: string;

  @Column(money('byok_week_usd'))
  byokWeekUsd: string;

  @Column(money('byok_month_usd'))
  byokMonthUsd: string;
}
