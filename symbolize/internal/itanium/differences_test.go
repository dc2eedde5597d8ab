package itanium

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// llvm14 is the demangler that Full agrees with, and cxxfilt the one that decides where Full
// disagrees.
const llvm14, cxxfilt = "llvm-cxxfilt-14", "c++filt"

// difference is a class of names that Full prints differently from llvm-cxxfilt 14.
type difference struct {
	why    string
	name   *regexp.Regexp // matches the mangled names
	llvm   *regexp.Regexp // matches what LLVM 14 prints for them; nil matches anything
	sample string
	byLLVM string // what LLVM 14 prints for the sample; the sample itself if LLVM 14 rejects it
	ours   string // what Full prints for the sample
}

// differences lists every known class. TestCorpus fails with each name that differs and is in none
// of them.
var differences = []difference{
	{
		why:    "LLVM 14 does not know the clones of transactional memory",
		name:   regexp.MustCompile(`^_ZGT[tn]`),
		sample: "_ZGTtNKSt9exceptionD1Ev",
		byLLVM: "_ZGTtNKSt9exceptionD1Ev",
		ours:   "transaction clone for std::exception::~exception() const",
	},
	{
		why:    "gcc mangles the scope of an unresolved name as a type in std, which LLVM 14 rejects",
		name:   regexp.MustCompile(`srSt`),
		sample: "_ZSt4moveIiEN9enable_ifIXsrSt11is_integralIT_E5valueEvE4typeES2_",
		byLLVM: "_ZSt4moveIiEN9enable_ifIXsrSt11is_integralIT_E5valueEvE4typeES2_",
		ours:   "enable_if<std::is_integral<int>::value, void>::type std::move<int>(int)",
	},
	{
		why: "gcc mangles the scope of an unresolved name as a type, whose parts are targets of back references; LLVM 14 " +
			"does not count them, and most of the following back references fail",
		name:   regexp.MustCompile(`sr(N\d|N?S[\dA-Z]*_)`),
		sample: "_ZN1N1fIiEENSt9enable_ifIXsrNS_1D1BIT_EE5valueENS2_1UIS4_EEE4typeES4_PS5_PS7_",
		byLLVM: "_ZN1N1fIiEENSt9enable_ifIXsrNS_1D1BIT_EE5valueENS2_1UIS4_EEE4typeES4_PS5_PS7_",
		ours:   "std::enable_if<N::D::B<int>::value, N::D::U<int> >::type N::f<int>(int, N::D::B<int>*, N::D::U<int>*)",
	},
	{
		why:    "LLVM 14 omits the name of a constructor or destructor after an ABI tag",
		name:   regexp.MustCompile(`B\d+\w+?[CD]\d`),
		llvm:   regexp.MustCompile(`\]::~?\(`),
		sample: "_ZNSt8ios_base7failureB5cxx11D1Ev",
		byLLVM: "std::ios_base::failure[abi:cxx11]::~()",
		ours:   "std::ios_base::failure[abi:cxx11]::~failure()",
	},
	{
		why: "LLVM 14 does not count the template argument list of a template template parameter as a target of back " +
			"references, so that the following back references are off by one",
		name:   regexp.MustCompile(`T\d*_I`),
		sample: "_Z1fI1AEvT_IiES1_IcES2_",
		byLLVM: "void f<A>(A<int>, A<int><char>, A<int><char>)",
		ours:   "void f<A>(A<int>, A<char>, A<int>)",
	},
	{
		why: "in the type of a conversion operator, LLVM 14 does not read the template arguments that follow a name in " +
			"template arguments, and rejects the name",
		name:   regexp.MustCompile(`cv[PROKV]*[NS1-9].*I`),
		sample: "_ZNK1AcvSt6vectorI1BSaIS1_EEEv",
		byLLVM: "_ZNK1AcvSt6vectorI1BSaIS1_EEEv",
		ours:   "A::operator std::vector<B, std::allocator<B> >() const",
	},
}

// knownDifference returns the class of a name, or nil.
func knownDifference(name, byLLVM string) *difference {
	for i := range differences {
		d := &differences[i]
		if d.name.MatchString(name) && (d.llvm == nil || d.llvm.MatchString(byLLVM)) {
			return d
		}
	}
	return nil
}

// TestDifferences checks the sample of each class.
func TestDifferences(t *testing.T) {
	var samples []string
	for _, d := range differences {
		samples = append(samples, d.sample)
		require.Equal(t, d.ours, demangled(d.sample, Full), d.why)
	}
	byLLVM, byGNU := pipe(t, llvm14, samples), pipe(t, cxxfilt, samples)
	for i, d := range differences {
		require.Equal(t, d.byLLVM, byLLVM[i], d.why)
		require.NotEqual(t, d.ours, byLLVM[i], d.why)
		require.Equal(t, d.why, knownDifference(d.sample, byLLVM[i]).why, d.sample)
		requireConfirmed(t, d.sample, d.ours, byGNU[i])
	}
}

// flat removes the characters that the tools spell differently.
var flat = strings.NewReplacer("(", "", ")", "", " ", "", "[clone", "", "]", "")

// requireConfirmed fails the test unless c++filt agrees with a name. c++filt omits the return types
// of enclosing functions.
func requireConfirmed(t *testing.T, name, ours, byGNU string) {
	t.Helper()
	agrees := strings.HasSuffix(flat.Replace(ours), flat.Replace(byGNU))
	require.True(t, agrees, "%s\nc++filt %s\nours    %s", name, byGNU, ours)
}
