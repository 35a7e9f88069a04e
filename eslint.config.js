import tseslint from "typescript-eslint"

/** What the design forbids in source: each ban names the reason, so that the fix is plain. */
const bans = [
  {
    selector: "CallExpression[callee.object.name='Effect'][callee.property.name=/^(race|raceFirst)$/]",
    message:
      "Effect.race and raceFirst do not wait for the loser when the parent is interrupted: use raceAll or timeout."
  },
  {
    selector: "CallExpression[callee.object.name='FiberSet'][callee.property.name='clear']",
    message: "FiberSet.clear interrupts one after another: use Fiber.interruptAll."
  },
  {
    selector:
      "CallExpression[callee.object.name='Date'][callee.property.name='now'], NewExpression[callee.name='Date'][arguments.length=0]",
    message: "All time comes from Effect's Clock."
  },
  {
    selector:
      "CallExpression[callee.name=/^(setTimeout|setInterval)$/], CallExpression[callee.object.name='performance'][callee.property.name='now']",
    message: "All time comes from Effect's Clock."
  },
  {
    selector:
      "MemberExpression[object.property.name='cause'][property.name='_tag'], MemberExpression[object.name='cause'][property.name='_tag']",
    message: "Do not match on the tags of a Cause: use the functions of the Cause module."
  },
  {
    selector: "CallExpression[callee.object.name='console']",
    message: "Use Effect's Console or the logger."
  }
]

const coreBans = [
  ...bans,
  {
    selector:
      "CallExpression[callee.object.name='Effect'][callee.property.name='fn'], CallExpression[callee.callee.object.name='Effect'][callee.callee.property.name='fn']",
    message: "Effect.fn captures a stack on each call (15 µs): use Effect.fnUntraced."
  },
  {
    selector:
      "CallExpression[callee.object.name='Fiber'][callee.property.name='join']:not(CallExpression[callee.property.name='pipe'] CallExpression)",
    message: "fork + join does not wait for the child when the parent is interrupted: use Fiber.await and interrupt it."
  }
]

export default tseslint.config(
  {
    ignores: [
      "**/dist/**",
      "**/out/**",
      "**/node_modules/**",
      "**/coverage/**",
      "**/.stryker-tmp/**",
      ".examples/**",
      "**/*.mjs"
    ]
  },
  ...tseslint.configs.recommended,
  {
    languageOptions: { parserOptions: { projectService: false } },
    rules: {
      "@typescript-eslint/array-type": ["error", { default: "generic", readonly: "generic" }],
      "@typescript-eslint/consistent-type-imports": ["error", { fixStyle: "inline-type-imports" }],
      "@typescript-eslint/no-explicit-any": "off",
      "@typescript-eslint/no-empty-object-type": "off",
      "@typescript-eslint/no-namespace": "off",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "require-yield": "off",
      "prefer-rest-params": "off",
      "object-shorthand": "error",
      "no-console": "error",
      "prefer-const": "error",
      eqeqeq: "error"
    }
  },
  {
    files: ["packages/*/src/**/*.ts", "apps/*/src/**/*.{ts,tsx}"],
    rules: { "no-restricted-syntax": ["error", ...bans] }
  },
  { files: ["packages/core/src/**/*.ts"], rules: { "no-restricted-syntax": ["error", ...coreBans] } }
)
