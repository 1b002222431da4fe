/** PostgreSQL pads a numeric to its scale: `10.500000000000` is 10.5. */
export function shortDecimal<Amount extends string | null>(amountUsd: Amount): Amount {
  return (amountUsd?.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '') ?? null) as Amount;
}
