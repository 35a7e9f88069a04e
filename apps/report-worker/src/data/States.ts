/**
 * The states of the USA, as their codes and their names.
 *
 * @since 0.1.0
 */

/**
 * Names by code; the capital's district is one of them.
 *
 * @since 0.1.0
 * @category constants
 */
export const stateNames: ReadonlyMap<string, string> = new Map(
  [
    "AL Alabama|AK Alaska|AZ Arizona|AR Arkansas|CA California|CO Colorado|CT Connecticut|DE Delaware|DC DC|FL Florida",
    "GA Georgia|HI Hawaii|ID Idaho|IL Illinois|IN Indiana|IA Iowa|KS Kansas|KY Kentucky|LA Louisiana|ME Maine",
    "MD Maryland|MA Massachusetts|MI Michigan|MN Minnesota|MS Mississippi|MO Missouri|MT Montana|NE Nebraska|NV Nevada",
    "NH New Hampshire|NJ New Jersey|NM New Mexico|NY New York|NC North Carolina|ND North Dakota|OH Ohio|OK Oklahoma",
    "OR Oregon|PA Pennsylvania|RI Rhode Island|SC South Carolina|SD South Dakota|TN Tennessee|TX Texas|UT Utah",
    "VT Vermont|VA Virginia|WA Washington|WV West Virginia|WI Wisconsin|WY Wyoming|PR Puerto Rico|VI Virgin Islands"
  ]
    .join("|")
    .split("|")
    .map((entry) => [entry.slice(0, 2), entry.slice(3)])
)
