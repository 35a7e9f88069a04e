/**
 * Who may import whom, as the design says: apps → cli → ledger → core; testing → core; core → effect. And cli → testing:
 * `lab` runs the real consumer on the virtual SQS.
 */
const packages = (names) => `^packages/(${names})/`
/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    { name: "no-circular", severity: "error", from: {}, to: { circular: true } },
    { name: "not-to-unresolvable", severity: "error", from: {}, to: { couldNotResolve: true } },
    {
      name: "core-imports-effect-only",
      severity: "error",
      from: { path: "^packages/core/src/", pathNot: "^packages/core/src/AwsSqs\\.ts$" },
      to: { pathNot: "^(packages/core/src/|node_modules/effect/)" }
    },
    {
      name: "aws-in-one-module",
      severity: "error",
      from: { path: "^packages/core/src/AwsSqs\\.ts$" },
      to: { pathNot: "^(packages/core/src/|node_modules/(effect|@aws-sdk/client-sqs)/|https?$)" }
    },
    {
      name: "barrel-without-aws",
      severity: "error",
      from: { path: "^packages/core/src/index\\.ts$" },
      to: { path: "AwsSqs" }
    },
    {
      name: "core-is-lowest",
      severity: "error",
      from: { path: "^packages/core/src/" },
      to: { path: packages("testing|ledger|cli") }
    },
    {
      name: "testing-on-core",
      severity: "error",
      from: { path: "^packages/testing/" },
      to: { path: packages("ledger|cli") }
    },
    {
      name: "ledger-on-core",
      severity: "error",
      from: { path: "^packages/ledger/src/" },
      to: { path: packages("testing|cli") }
    },
    { name: "packages-not-to-apps", severity: "error", from: { path: "^packages/" }, to: { path: "^apps/" } },
    {
      name: "apps-apart",
      severity: "error",
      from: { path: "^apps/([^/]+)/" },
      to: { path: "^apps/", pathNot: "^apps/$1/" }
    },
    {
      name: "internal-stays-inside",
      severity: "error",
      from: { path: "^(packages|apps)/([^/]+)/" },
      to: { path: "/src/internal/", pathNot: "^$1/$2/" }
    }
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "(^|/)(dist|out|coverage)/" },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["@effect-sqs/source", "import", "types", "node", "default"],
      extensions: [".ts", ".tsx", ".js", ".mjs", ".cjs", ".json"]
    }
  }
}
